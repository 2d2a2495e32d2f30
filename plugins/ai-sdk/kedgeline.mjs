// Vercel's AI SDK (7 and later): `generateText({ …, prepareStep: kedgeline() })`.
//
// `kedgeline serve` must run on this machine. Where it does not answer, the step goes on as it is.
// What version 7 is given as `messages` holds for later steps too, so there is no cut to remember.

export function kedgeline({
  url = process.env.KEDGELINE_URL ?? "http://127.0.0.1:8377",
  conversation,
  window,
  timeout = 5_000,
  onError = () => {},
} = {}) {
  return async ({ messages, steps = [], model }) => {
    try {
      const response = await fetch(`${url}/compact`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          messages,
          conversation,
          window,
          model: typeof model === "string" ? model : model?.modelId,
          reported: steps.at(-1)?.usage?.inputTokens,
        }),
        signal: AbortSignal.timeout(timeout),
      });
      if (!response.ok) throw new Error(`kedgeline: ${response.status}`);
      const done = await response.json();
      const changed = done.compacted || done.messages.length !== messages.length;
      return changed ? { messages: done.messages } : undefined;
    } catch (error) {
      onError(error);
      return undefined;
    }
  };
}
