// A loop of the real AI SDK: what its model is asked, and what its result holds, as one JSON object.
const [packages, plugin, url, way, outputs] = process.argv.slice(2);
const { generateText, streamText, isStepCount, jsonSchema, tool } = await import(`${packages}/ai/dist/index.js`);
const { MockLanguageModelV4, convertArrayToReadableStream } = await import(`${packages}/ai/dist/test/index.js`);
const { kedgeline } = await import(plugin);
const { readFileSync } = await import("node:fs");
const told = JSON.parse(readFileSync(outputs, "utf8"));
const usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

function next(prompt) {
  const last = prompt.at(-1);
  const number = last.role === "tool" ? parseInt(last.content[0].output.value) : 0;
  if (number >= told.length) return [{ type: "text", text: "Part 7 is wrong." }];
  const input = JSON.stringify({ number: number + 1 });
  return [
    { type: "reasoning", text: "hm", providerMetadata: { played: { signature: `s${number}` } } },
    { type: "text", text: `I look at part ${number + 1}.` },
    { type: "tool-call", toolCallId: `c${number + 1}`, toolName: "part", input },
  ];
}

function streamed(content) {
  const finish = content.at(-1).type === "tool-call" ? "tool-calls" : "stop";
  const parts = content.flatMap((one, n) =>
    one.type === "tool-call"
      ? [one]
      : [
          { type: `${one.type}-start`, id: `${n}`, providerMetadata: one.providerMetadata },
          { type: `${one.type}-delta`, id: `${n}`, delta: one.text },
          { type: `${one.type}-end`, id: `${n}`, providerMetadata: one.providerMetadata },
        ],
  );
  return [...parts, { type: "finish", finishReason: { unified: finish, raw: undefined }, usage }];
}

const prompts = [];
const model = new MockLanguageModelV4({
  modelId: "played",
  doGenerate: async ({ prompt }) => {
    prompts.push(prompt);
    const content = next(prompt);
    const finish = content.at(-1).type === "tool-call" ? "tool-calls" : "stop";
    return { content, finishReason: { unified: finish, raw: undefined }, usage, warnings: [] };
  },
  doStream: async ({ prompt }) => {
    prompts.push(prompt);
    return { stream: convertArrayToReadableStream(streamed(next(prompt))) };
  },
});
const part = tool({
  description: "Give back one part of the ledger, by its number.",
  inputSchema: jsonSchema({ type: "object", properties: { number: { type: "number" } } }),
  execute: async ({ number }) => told[number - 1],
});
const errors = [];
const image = { type: "file", mediaType: "image/png", data: new Uint8Array([137, 80, 78, 71]) };
const asked = {
  model,
  tools: { part },
  instructions: "You are a careful auditor. Never skip a part.",
  messages: [
    { role: "user", content: [{ type: "text", text: "Go through all parts one by one." }, image] },
  ],
  stopWhen: isStepCount(told.length + 1),
  prepareStep: kedgeline({ url, conversation: way, onError: (error) => errors.push(String(error)) }),
};
let result;
if (way.startsWith("stream")) {
  result = streamText(asked);
  await result.consumeStream();
} else {
  result = await generateText(asked);
}
const messages = await result.responseMessages;
const history = (await result.steps).flatMap((step) => step.toolResults.map((one) => one.toolCallId));
console.log(JSON.stringify({ prompts, errors, text: await result.text, messages: messages.length, history }));
