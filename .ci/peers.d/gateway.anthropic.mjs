// A session of the official SDK for TypeScript, with tool calls: `URL`, `TURNS`; every other request is streamed. With
// `MADE_UP` the calls are made up here, for a model that makes none, and what it says does not matter.
import { execSync } from "node:child_process";
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: process.env.URL, apiKey: "x", maxRetries: 0 });
const schema = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
const tools = [{ name: "Bash", description: "runs a command", input_schema: schema }];
const messages = [];
const madeUp = "MADE_UP" in process.env;
let calls = 0, asked = 0;

for (let turn = 0; turn < Number(process.env.TURNS); turn++) {
  console.log("turn", turn + 1);
  messages.push({ role: "user", content: `Step ${turn}: please\nrun: seq 1 2500\nthank you` });
  let answer, results;
  if (madeUp) {
    const call = { type: "tool_use", id: `toolu_${turn}`, name: "Bash", input: { command: "seq 1 250" } };
    const result = { type: "tool_result", tool_use_id: call.id, content: execSync("seq 1 250").toString() };
    messages.push({ role: "assistant", content: [call] }, { role: "user", content: [result] });
    calls++;
  }
  do {
    const system = [{ type: "text", text: "You run commands.", cache_control: { type: "ephemeral" } }];
    const request = { model: "claude-sonnet-4-5", max_tokens: madeUp ? 24 : 256, messages, tools, system };
    if (madeUp) request.tool_choice = { type: "none" };
    asked++;
    answer = asked % 2 ? await client.messages.create(request) : await client.messages.stream(request).finalMessage();
    messages.push({ role: "assistant", content: answer.content });
    results = answer.content.filter((block) => block.type === "tool_use").map((block) => ({
      type: "tool_result", tool_use_id: block.id, content: execSync(block.input.command).toString(),
    }));
    calls += results.length;
    if (results.length) messages.push({ role: "user", content: results });
  } while (results.length);
  if (!madeUp && answer.content[0].text !== "done") throw new Error(JSON.stringify(answer));
}
console.log("done after", calls, "calls");
