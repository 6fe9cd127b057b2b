"""A session of the official SDK for Python, with tool calls: `URL`, `TURNS`; every other request is streamed. With `MADE_UP` the
calls are made up here, for a model that makes none, and what it says does not matter."""
import os
import subprocess

from anthropic import Anthropic

client = Anthropic(base_url=os.environ["URL"], api_key="x", max_retries=0)
tool = {"name": "Bash", "description": "runs a command", "input_schema": {
    "type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}
messages, calls, asked = [], 0, 0
made_up = "MADE_UP" in os.environ


def ask():
    global asked
    asked += 1
    request = {"model": "claude-sonnet-4-5", "max_tokens": 24 if made_up else 256, "messages": messages, "tools": [tool],
               "system": [{"type": "text", "text": "You run commands.", "cache_control": {"type": "ephemeral"}}]}
    if made_up:
        request["tool_choice"] = {"type": "none"}
    if asked % 2:
        return client.messages.create(**request)
    with client.messages.stream(**request) as stream:
        return stream.get_final_message()


for turn in range(int(os.environ["TURNS"])):
    print("turn", turn + 1, flush=True)
    messages.append({"role": "user", "content": f"Step {turn}: please\nrun: seq 1 2500\nthank you"})
    if made_up:
        call = {"type": "tool_use", "id": f"toolu_{turn}", "name": "Bash", "input": {"command": "seq 1 250"}}
        output = subprocess.run("seq 1 250", shell=True, capture_output=True, text=True, check=True).stdout
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": output}]})
        calls += 1
    while True:
        answer = ask()
        messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in answer.content]})
        results = []
        for block in answer.content:
            if block.type == "tool_use":
                output = subprocess.run(block.input["command"], shell=True, capture_output=True, text=True, check=True)
                results.append({"type": "tool_result", "tool_use_id": block.id, "content": output.stdout})
                calls += 1
        if not results:
            break
        messages.append({"role": "user", "content": results})
    assert made_up or answer.content[0].text == "done", answer
print("done after", calls, "calls")
