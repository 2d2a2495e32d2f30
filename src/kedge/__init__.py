"""kedge: anchored context compaction for LLM agents."""
