"""A session of the official SDK for Python, with tool calls: `URL`, `TURNS`, `API` (chat or responses); every other
request is streamed. With `MADE_UP` the calls are made up here, for a model that makes none, and what it says does not
matter."""
import json
import os
import subprocess

from openai import OpenAI

client = OpenAI(base_url=os.environ["URL"] + "/v1", api_key="x", max_retries=0)
schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
function = {"name": "bash", "description": "runs a command", "parameters": schema}
history, calls, asked = [], 0, 0
made_up = "MADE_UP" in os.environ


def streams():
    global asked
    asked += 1
    return asked % 2 == 0


def run(arguments):
    global calls
    calls += 1
    command = json.loads(arguments)["command"]
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout


def chat():
    """One request of Chat Completions: the text, or nothing if tools were called."""
    request = {"model": "gpt-4o", "messages": history, "tools": [{"type": "function", "function": function}]}
    if made_up:
        request |= {"tool_choice": "none", "max_tokens": 24}
    streamed = streams()
    if streamed and made_up:
        # The SDK's helper takes an answer that ends at its length for a failure; what this model says does not matter.
        chunks = client.chat.completions.create(**request, stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        history.append({"role": "assistant", "content": text})
        return text
    if streamed:
        with client.chat.completions.stream(**request) as stream:
            message = stream.get_final_completion().choices[0].message
    else:
        message = client.chat.completions.create(**request).choices[0].message
    called = [{"id": call.id, "type": "function",
               "function": {"name": call.function.name, "arguments": call.function.arguments}}
              for call in message.tool_calls or []]
    history.append({"role": "assistant", "content": message.content, **({"tool_calls": called} if called else {})})
    for call in called:
        history.append({"role": "tool", "tool_call_id": call["id"], "content": run(call["function"]["arguments"])})
    return None if called else message.content


def responses():
    """One request of Responses: the text, or nothing if tools were called."""
    request = {"model": "gpt-4o", "input": history, "tools": [{"type": "function", **function}], "store": False}
    if made_up:
        request |= {"tool_choice": "none", "max_output_tokens": 24}
    streamed = streams()
    if streamed and made_up:
        # The SDK's helper needs fields of events that llama.cpp's server leaves out.
        events = client.responses.create(**request, stream=True)
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        history.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
        return text
    if streamed:
        with client.responses.stream(**request) as stream:
            response = stream.get_final_response()
    else:
        response = client.responses.create(**request)
    called = [item for item in response.output if item.type == "function_call"]
    # What was put out goes in again as it came; llama.cpp's server takes a model's message in no other form.
    history.extend(item.model_dump(exclude_none=True) for item in response.output)
    for item in called:
        history.append({"type": "function_call_output", "call_id": item.call_id, "output": run(item.arguments)})
    return None if called else response.output_text


def make_up(turn):
    """A call as a model would have made it, and its result."""
    name, arguments = f"call_{turn}", json.dumps({"command": "seq 1 250"})
    if os.environ["API"] == "chat":
        history.append({"role": "assistant", "content": None, "tool_calls": [
            {"id": name, "type": "function", "function": {"name": "bash", "arguments": arguments}}]})
        history.append({"role": "tool", "tool_call_id": name, "content": run(arguments)})
    else:
        history.append({"type": "function_call", "call_id": name, "name": "bash", "arguments": arguments})
        history.append({"type": "function_call_output", "call_id": name, "output": run(arguments)})


ask = {"chat": chat, "responses": responses}[os.environ["API"]]
for turn in range(int(os.environ["TURNS"])):
    print("turn", turn + 1, flush=True)
    history.append({"role": "user", "content": f"Step {turn}: please\nrun: seq 1 2500\nthank you"})
    if made_up:
        make_up(turn)
    while (text := ask()) is None:
        pass
    assert made_up or text == "done", text
print("done after", calls, "calls")
