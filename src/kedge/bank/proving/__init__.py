"""Whether a bank is what was written into it: chains, hashes, the index, and git history."""

from kedge.bank.proving.chain import chain_name, updated
from kedge.bank.proving.findings import Finding, Findings
from kedge.bank.proving.verifying import verify

__all__ = ["Finding", "Findings", "chain_name", "updated", "verify"]
