// A message builder of Cline. Its own compaction stays beside it.
import { viewOf } from "./view.js"

/** Tokens from where on the conversation is compacted, half of what most models take: Cline does not say. */
const LIMIT = 100_000

export default {
  name: "kedgeline",
  manifest: { capabilities: ["messageBuilders"] },
  setup(api, context) {
    const session = context?.session?.sessionId
    if (!session) return // what is decided could not be kept
    const build = (messages) => viewOf(session, messages, LIMIT).catch(() => messages)
    api.registerMessageBuilder({ name: "kedgeline", build })
  },
}
