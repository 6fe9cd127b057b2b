// A session of the official SDK for TypeScript, with tool calls: `URL`, `TURNS`, `API` (chat or responses); every other
// request is streamed. With `MADE_UP` the calls are made up here, for a model that makes none, and what it says does not matter.
import { execSync } from "node:child_process";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.env.URL}/v1`, apiKey: "x", maxRetries: 0 });
const schema = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
const fn = { name: "bash", description: "runs a command", parameters: schema };
const history = [];
const madeUp = "MADE_UP" in process.env;
let calls = 0, asked = 0;

function run(args) {
  calls++;
  return execSync(JSON.parse(args).command).toString();
}

async function chat() {
  const request = { model: "gpt-4o", messages: history, tools: [{ type: "function", function: fn }] };
  if (madeUp) Object.assign(request, { tool_choice: "none", max_tokens: 24 });
  asked++;
  if (madeUp && asked % 2 === 0) {
    // The SDK's helper takes an answer that ends at its length for a failure; what this model says does not matter.
    let text = "";
    for await (const { choices } of await client.chat.completions.create({ ...request, stream: true })) text += choices[0]?.delta?.content ?? "";
    history.push({ role: "assistant", content: text });
    return text;
  }
  const message = asked % 2
    ? (await client.chat.completions.create(request)).choices[0].message
    : (await client.chat.completions.stream(request).finalChatCompletion()).choices[0].message;
  const called = (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({
    id, type: "function", function: { name, arguments: args },
  }));
  history.push({ role: "assistant", content: message.content, ...(called.length ? { tool_calls: called } : {}) });
  for (const call of called) history.push({ role: "tool", tool_call_id: call.id, content: run(call.function.arguments) });
  return called.length ? null : message.content;
}

async function responses() {
  const request = { model: "gpt-4o", input: history, tools: [{ type: "function", strict: false, ...fn }], store: false };
  if (madeUp) Object.assign(request, { tool_choice: "none", max_output_tokens: 24 });
  asked++;
  if (madeUp && asked % 2 === 0) {
    // The SDK's helper needs fields of events that llama.cpp's server leaves out.
    let text = "";
    for await (const event of await client.responses.create({ ...request, stream: true })) if (event.type === "response.output_text.delta") text += event.delta;
    history.push({ type: "message", role: "assistant", content: [{ type: "output_text", text }] });
    return text;
  }
  const response = asked % 2 ? await client.responses.create(request) : await client.responses.stream(request).finalResponse();
  const called = response.output.filter((item) => item.type === "function_call");
  // What was put out goes in again as it came, without what the SDK adds to it.
  for (const { parsed_arguments, ...item } of response.output) {
    if (item.content) item.content = item.content.map(({ parsed, ...part }) => part);
    history.push(item);
  }
  for (const item of called) history.push({ type: "function_call_output", call_id: item.call_id, output: run(item.arguments) });
  return called.length ? null : response.output_text;
}

// A call as a model would have made it, and its result.
function makeUp(turn) {
  const [id, args] = [`call_${turn}`, JSON.stringify({ command: "seq 1 250" })];
  if (process.env.API === "chat") {
    const call = { id, type: "function", function: { name: "bash", arguments: args } };
    history.push({ role: "assistant", content: null, tool_calls: [call] }, { role: "tool", tool_call_id: id, content: run(args) });
  } else {
    history.push({ type: "function_call", call_id: id, name: "bash", arguments: args });
    history.push({ type: "function_call_output", call_id: id, output: run(args) });
  }
}

const ask = { chat, responses }[process.env.API];
for (let turn = 0; turn < Number(process.env.TURNS); turn++) {
  console.log("turn", turn + 1);
  history.push({ role: "user", content: `Step ${turn}: please\nrun: seq 1 2500\nthank you` });
  if (madeUp) makeUp(turn);
  let text = null;
  while (text === null) text = await ask();
  if (!madeUp && text !== "done") throw new Error(text);
}
console.log("done after", calls, "calls");
