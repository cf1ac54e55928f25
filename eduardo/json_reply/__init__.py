"""JSON objects in the replies of language models: asked for with a schema, and found in whatever they write."""

from eduardo.json_reply.asking import SchemaClient
from eduardo.json_reply.objects import Found, as_text, find_objects
from eduardo.json_reply.schema import StructuredOutput, response_format

__all__ = ["Found", "SchemaClient", "StructuredOutput", "as_text", "find_objects", "response_format"]
