"""Language models of the providers that pydantic-ai knows, and of servers that speak as they do."""

from kedge.models.provider.model import ProviderModel

__all__ = ["ProviderModel"]
