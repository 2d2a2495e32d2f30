// Vercel's AI SDK (7 and later): `generateText({ …, prepareStep: kedgeline() })`.
//
// `kedgeline serve` must run on this machine. Where it does not answer, the step goes on as it is.
// What version 7 is given as `messages` holds for later steps too, so there is no cut to remember.

// Bytes and addresses of files, as JSON has them.
const plain = (_, value) =>
  value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;

export function kedgeline({
  url = process.env.KEDGELINE_URL ?? "http://127.0.0.1:8377",
  conversation,
  window,
  timeout = 5_000,
  onError = () => {},
} = {}) {
  return async ({ messages, steps = [], model, instructions }) => {
    try {
      const response = await fetch(`${url}/compact`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(
          {
            messages,
            conversation,
            window,
            beside: instructions,
            model: typeof model === "string" ? model : model?.modelId,
            reported: steps.at(-1)?.usage?.inputTokens,
          },
          plain,
        ),
        signal: AbortSignal.timeout(timeout),
      });
      if (!response.ok) throw new Error(`kedgeline: ${response.status}`);
      const done = await response.json();
      if (!done.compacted && done.messages.length === messages.length) return undefined;
      const own = new Map(messages.map((one) => [JSON.stringify(one, plain), one]));
      return { messages: done.messages.map((one) => own.get(JSON.stringify(one)) ?? one) };
    } catch (error) {
      onError(error);
      return undefined;
    }
  };
}
