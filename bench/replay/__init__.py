"""The replay benchmark: cut a real session, compact what is before the cut, look at what the agent
really did after it. No judge: what is needed is read from the session itself."""
