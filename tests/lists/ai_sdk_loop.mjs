// A loop as version 7 of the AI SDK makes it: messages that a step returns carry on to the next.
const { kedgeline } = await import(process.argv[3]);
const rows = Array.from({ length: 60 }, (_, n) => `row ${n}: ${(n * 7919) % 9973} units`).join("\n");
const step = kedgeline({ url: process.argv[2] });
let messages = [{ role: "user", content: "Go through all parts." }];
let compactions = 0, most = 0, steps = [];
for (let n = 0; n < 60; n++) {
  const changed = await step({ messages, steps, model: "played" });
  if (changed) { messages = changed.messages; compactions++; }
  most = Math.max(most, JSON.stringify(messages).length);
  const call = { type: "tool-call", toolCallId: `c${n}`, toolName: "part", input: { n } };
  const told = { type: "tool-result", toolCallId: `c${n}`, toolName: "part", output: { type: "text", value: `${n} ${rows}` } };
  messages = [...messages, { role: "assistant", content: [call] }, { role: "tool", content: [told] }];
}
const asked = messages.flatMap((m) => m.content).filter((b) => b.type === "tool-call").map((b) => b.toolCallId);
const told = messages.flatMap((m) => m.content).filter((b) => b.type === "tool-result").map((b) => b.toolCallId);
const failed = await kedgeline({ url: "http://127.0.0.1:9", timeout: 500 })({ messages });
console.log(JSON.stringify({ compactions, most, pairs: String(asked) === String(told), failed: failed === undefined }));
