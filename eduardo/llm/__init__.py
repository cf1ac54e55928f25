"""One async chat client for every endpoint: deadlines, retries, a concurrency limit, typed failures."""

from eduardo.llm.client import ChatClient
from eduardo.llm.completer import Completer
from eduardo.llm.replies import Completion, TokenCompletion, require_whole
from eduardo.llm.report import EndpointReport
from eduardo.llm.shared import close_shared_clients, shared_client
from eduardo.llm.stats import ClientStats
from eduardo.llm.usage import TokenUsage, counted

__all__ = [
    "ChatClient",
    "ClientStats",
    "Completer",
    "Completion",
    "EndpointReport",
    "TokenCompletion",
    "TokenUsage",
    "close_shared_clients",
    "counted",
    "require_whole",
    "shared_client",
]
