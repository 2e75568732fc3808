"""Where text becomes part of a cached prefix: names, keywords, constructors, decorators, switches."""

from __future__ import annotations

import re

from cachesafe_rules.observers import AGENT_CALLEES
from cachesafe_rules.patterns import lazy_pattern

__all__ = ["AGENT_CALLEES", "is_system_name", "is_system_role", "is_user_name"]

_SYSTEM = lazy_pattern(
    r"(?:^|_)(?:system|sys|developer)_?(?:prompt|message|msg|instruction|content|text|template|context|preamble|"
    r"header|block|part|section)s?"
    r"(?:$|_(?!id|ids|dict|meta|path|paths|file|files|filename|token|tokens|count|len|length|size|name|names|type|"
    r"role|hash|key|keys|dir|time|ms|secs|seconds|elapsed|duration|at|version|class|cls|data|dataset|datasets|list|loader|"
    r"fn|func|enabled|index|idx|url|override|overrides|cache|cached|hook|hooks|callback|event|events|reminder|"
    r"builder|factory|manager|provider|loader|config|settings|metadata|"
    r"tokens?_\w+|exists|changed|updated_at|created_at|added|sent|var|vars|variables|param|params|field|option|"
    r"flag|mode|label|schema|"
    r"format|source|diff|stats|limit|max|budget|chars|error|errors|warning|log|usage|cost)(?:$|\w))"
)
_INSTRUCTIONS = lazy_pattern(
    r"^_?(?:custom|agent|base|developer|system|assistant|global|full|final|default|supervisor|dynamic|my|static|"
    r"base_agent|bot)?_?instructions$"
)
_UPPER = lazy_pattern(r"^_?(?:[A-Z0-9]+_)*(?:PROMPT|INSTRUCTIONS?|PREAMBLE|PERSONA|SYSTEM)(?:_[A-Z0-9]+)*$")
_UPPER_STOP = lazy_pattern(
    r"(?:^|_)(?:ID|PATH|FILE|DIR|TOKENS?|COUNT|LEN|NAME|TYPE|ROLE|HASH|KEY|URL|VERSION|CACHE|LIMIT|MAX|MIN|SIZE|"
    r"REGEX|PATTERN|RE|ENV|"
    r"OPERATING|FILESYSTEM|OS|INFO|PLATFORM|TIMEOUT|HUMAN|QUERY|QUESTION)(?:_|$)|^_?USER_(?:PROMPT|MESSAGE|"
    r"INSTRUCTION)|^_?(?:PROMPT|SYSTEM)$|_USER_PROMPT|USER_MSG"
)
# Constants named after a task that is asked once, and nothing said of a system prompt.
TASK_CONSTANTS = lazy_pattern(
    r"^(?!.*(?:SYSTEM|SYS_|DEVELOPER|AGENT|ASSISTANT))_?(?:\w+_)?(?:TITLE|EXTRACT\w*|FACTS?|JUDGE|JUDGMENT|GRADE|GRADER|"
    r"GRADING|SCORE|SCORING|EVAL|EVALUAT\w+|SUMMARY|SUMMAR\w+|CLASSIF\w+|TRANSLAT\w+|REWRITE|KEYWORDS?|TAGS?|LABEL\w*)_"
)
_STOP = lazy_pattern(
    r"volatile|uncached|"
    r"reminder|heartbeat|event|non_system|no_system|without_system|filesystem|file_system|is_|has_|use_|"
    r"supports?_|inline_|allows?_|enable|disable|include_|exclude_|needs_|requires?_|should_|strip_|"
    r"count|token|_hash|parse|extract|validate|test_|log_|print_|save_|set_|update_|remove_|delete_|on_|send_|"
    r"show_|display_|fake_|dummy_|estimat|check_|exist"
)


def is_system_name(name: str) -> bool:
    """Whether a variable, parameter, attribute or function is named like system text."""
    lower = name if name.islower() else _snake(name)
    if _STOP.search(lower):
        return False
    return bool(_SYSTEM.search(lower) or _INSTRUCTIONS.match(lower))


# Names that say whose text it is, and that it is one text.
SAYS_SYSTEM = lazy_pattern(r"(?:sys|developer)(?!\w*(?:prompts|messages|texts|templates)$)", re.IGNORECASE)

# Local names that count only where the text goes on into a prompt: files, forms and people get instructions too.
WEAK_NAMES = frozenset(("instructions", "_instructions"))


def is_system_constant(name: str) -> bool:
    """The same for constants of a module, where PROMPT and INSTRUCTIONS count as well."""
    return name.isupper() and bool(_UPPER.match(name)) and not _UPPER_STOP.search(name)


def _snake(name: str) -> str:
    return name.lower() if name.isupper() else re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


_USER = lazy_pattern(
    r"(?:^|_)(?:user|human)_(?:prompt|message|msg|content|text|input|query|template|instruction)s?(?:$|_)"
)


def is_user_name(name: str) -> bool:
    """Whether a variable or keyword is named like text that goes out as a user's message."""
    return bool(_USER.search(name.lower()))


_ROLE = lazy_pattern(r"(?:^|[._])(?:system|developer)(?:_message)?(?:_role)?(?:\.value)?$", re.IGNORECASE)


def is_system_role(name: str) -> bool:
    """Whether a dotted name stands for the system role: `Role.SYSTEM`, `agent.system_message_role`."""
    return bool(_ROLE.search(name))


SYSTEM_ROLES = frozenset(("system", "developer"))
OTHER_ROLES = frozenset(("user", "human", "assistant", "ai", "tool", "function", "model"))

# Classes and constructors whose text is a system message, by the last part of their name -> argument.
SYSTEM_MAKERS: dict[str, tuple[str, ...]] = {
    "SystemMessage": ("content", "text"),
    "SystemMessagePromptTemplate": ("prompt",),
    "SystemPromptPart": ("content",),
    "SystemChatMessage": ("content",),
    "ChatCompletionSystemMessageParam": ("content",),
    "ChatCompletionDeveloperMessageParam": ("content",),
    "SystemMessageParam": ("content",),
    "DeveloperMessage": ("content",),
    "SystemPrompt": ("content", "text"),
    "SystemPromptBlock": ("text", "content"),
    "SystemContentBlock": ("text",),
    "TextSystemMessage": ("content",),
}
SYSTEM_METHODS = frozenset(
    (
        "from_system",
        "make_system_message",
        "system_message",
        "add_system_message",
        "create_system_message",
        "set_system_prompt",
        "set_system_message",
        "update_system_message",
        "with_system_prompt",
        "with_instructions",
        "with_system_message",
        "append_system_message",
        "append_instructions",
    )
)
USER_MAKERS = frozenset(
    (
        "HumanMessage",
        "UserMessage",
        "HumanMessagePromptTemplate",
        "AIMessage",
        "AssistantMessage",
        "UserPromptPart",
        "ToolMessage",
        "UserTextMessage",
        "ChatCompletionUserMessageParam",
    )
)
USER_METHODS = frozenset(("from_user", "make_user_message", "user_message", "add_user_message", "from_assistant"))
MESSAGE_MAKERS = lazy_pattern(
    r"(?:Message|ChatMessage|LLMMessage|Msg|Content|MessageParam|Turn|MessageCreate|PromptMessage|InputMessage|"
    r"Message_)$|^dict$|^Message|^make_message$|^TypedDict$"
)

# Keywords that carry system text on any call.
SYSTEM_KEYWORDS = frozenset((
    "system_prompt", "system_message", "system_msgs", "system_msg", "sys_prompt", "sys_msg", "system_instruction",
    "systemInstruction", "system_instructions", "instructions", "custom_instructions", "global_instruction",
    "static_instruction", "developer_message", "system_prompt_template", "system_prompt_suffix",
    "system_prompt_prefix", "system_suffix", "additional_instructions", "additional_context", "prompt_extension",
    "append_system_prompt", "suffix_system_prompt", "system_content", "system_text", "prefix_messages",
    "state_modifier", "system_template", "systemPrompt", "expected_output_instructions",
))  # fmt: skip
# Words that people are told what to do with as well: these count on a call that makes or asks a model or an agent.
WEAK_KEYWORDS = frozenset(("instructions", "additional_instructions", "additional_context"))
ASKING = lazy_pattern(
    r"Agent|Assistant|Session|Model|LLM|Chat|Realtime|Prompt|Request|Config|Options|Params|Client|Runner|Team|Crew|"
    r"Swarm|MCP|agent|assistant|model|llm|chat|prompt|session|^(?:create|acreate|update|stream|astream|parse|run|arun|"
    r"run_sync|run_stream|generate|agenerate|complete|acomplete|override|replace|copy|clone|partial|super|__init__|"
    r"dict|respond|ask|invoke|ainvoke)$"
)
# Keywords that do so only beside others, or on some callees.
AGENT_KEYWORDS = frozenset(
    ("instruction", "backstory", "goal", "persona", "prompt", "introduction", "guidelines", "introduction")
)
BESIDE_SYSTEM = frozenset(("messages", "model", "max_tokens", "contents", "history", "prompt", "input", "tools"))

BESIDE_TOOLS = frozenset(
    ("messages", "model", "max_tokens", "contents", "input", "system", "instructions", "system_prompt", "llm", "prompt")
)
# What a dict is called whose `tools` go to a model.
REQUEST_NAMES = lazy_pattern(r"(?:^|_)(?:kwargs|params|parameters|request|req|payload|body)(?:$|_)")
# Beside one of the first, or among nothing but the others, `tools` in a dict belong to a request or to an agent.
SENT_FIELDS = frozenset(("messages", "contents", "input", "system", "instructions", "system_prompt"))
REQUEST_FIELDS = SENT_FIELDS | frozenset((
    "model", "tools", "max_tokens", "max_output_tokens", "max_completion_tokens", "temperature", "top_p", "top_k",
    "stop", "stop_sequences", "n", "seed", "stream", "stream_options", "tool_choice", "parallel_tool_calls",
    "functions", "function_call", "metadata", "extra_body", "extra_headers", "timeout", "response_format", "reasoning",
    "reasoning_effort", "thinking", "user", "betas", "presence_penalty", "frequency_penalty", "logprobs", "store",
    "previous_response_id", "text", "include", "truncation", "service_tier", "prompt_cache_key", "cache_control",
    "name", "description", "prompt", "llm", "api_key", "base_url", "api_base", "num_retries",
))  # fmt: skip
# Functions that write an agent down instead of asking it.
SERIALISERS = lazy_pattern(r"^_?(?:to|as)_(?:dict|json|yaml|config)|serializ|^dump|^export|^save")
# Functions that tell others what has happened, over a bus or a socket.
PUBLISHES = lazy_pattern(
    r"^_?(?:async_)?(?:publish|emit|fire|broadcast|notify|dispatcher_send|track|capture)(?:_(?:event|state|update|all|json))?$"
)
# chat(system, messages): the second argument is a list of messages.
CHAT_METHODS = lazy_pattern(r"chat|complet|generat|invoke|call|ask|predict|respond")
TOOL_SCHEMA_CALLEES = lazy_pattern(r"Tool|Function(?:Declaration|Chunk|Definition|Spec|Schema|Param)?$|FunctionChunk")
TEMPLATE_CLOCKS = lazy_pattern(r"date|now|today|time")
# Objects that carry what a system prompt is filled with.
PROMPT_ARGUMENTS = lazy_pattern(
    r"(?:System|Sys)Prompt(?:Args|Arguments|Vars|Variables|Context|Params|Data|Inputs?|Values|Fields)$"
)

# First positional argument is system text.
POSITIONAL_SYSTEM: dict[str, int] = {"ChatAgent": 0, "with_conversation_start_date": 0, "with_instructions": 0}
# Method -> words for what it sets.
DATED_METHODS = {
    "with_conversation_start_date": "conversation start date of the Harmony system message",
    "with_knowledge_cutoff": "system message",
}

# Dict keys that hold system text, and what must stand beside them.
SYSTEM_KEYS = frozenset(
    ("system_prompt", "system_message", "system_instruction", "systemInstruction", "sys_prompt", "developer_prompt")
)
KEYS_BESIDE: dict[str, frozenset[str]] = {
    "system": frozenset(("messages", "model", "max_tokens", "tools")),
    "instructions": frozenset(("input", "model", "tools", "name", "messages", "assistant_id")),
}
# Functions that make the system text by their name, in a file that is complete as it stands.
MAKES_SYSTEM = lazy_pattern(
    r"^_*(?:build|get|make|render|compose|create|format|assemble|transform|generate|prepare)_(?:\w+_)?system(?:_(?!info|"
    r"status|time|config|path|name|stats|health|id|tool|call|user|file|metric|command|log|clock|event|state)\w+)?$"
)
# Functions that build a part of a request.
BUILDS = lazy_pattern(r"(?:^|_)(?:system|prompt|request|body|payload|build|context|params|kwargs)(?:_|$)")
TOOL_KEYS = frozenset(("input_schema", "parameters", "inputSchema", "function", "args_schema", "schema"))

TOOL_CALLEES = lazy_pattern(
    r"^(?:Tool|FunctionTool|StructuredTool|BaseTool|FunctionDeclaration|ToolDefinition|ToolSpec|ToolParam|"
    r"QueryEngineTool|ToolMetadata|ToolSchema|ChatCompletionToolParam|tool|function_tool|FunctionToolParam)$|"
    r"^from_function$|^from_defaults$"
)
TOOL_CLASSES = lazy_pattern(r"Tool(?:kit)?s?$|^Tool")
TOOL_ATTRIBUTES = frozenset(("description", "inputs", "__doc__", "input_schema", "parameters", "args_schema"))
TOOL_DECORATORS = lazy_pattern(
    r"(?:^|\.)(?:tool|function_tool|tool_plain|kernel_function|ai_tool|agent_tool|mcp_tool|beta_tool|"
    r"beta_async_tool|register_tool|as_tool|action|registry\.action|langchain_tool)$"
)

# Decorators that register a function whose result is system text -> words.
PROMPT_DECORATORS: dict[str, str] = {
    "system_prompt": "system prompt (fixed when the conversation starts)",
    "instructions": "instructions (made anew for every request)",
    "instruction": "instructions (made anew for every request)",
    "dynamic_prompt": "system prompt (made anew for every model call)",
    "system_message": "system message",
}

FEW_SHOT = lazy_pattern(
    # `few_shots_ms`, `num_few_shots`: what is measured or counted of them is no example.
    r"^(?!(?:num|n|use|has|is|max)_|\w*_(?:ms|s|secs?|seconds|time|elapsed|duration|started|count|size|len|ids?|path|file|"
    r"dir|seed|idx|index|tokens?|at|enabled|hash|key)$)\w*few_?shots?|"
    r"^example_messages$|^icl_examples$|^(?:prompt_)?examples_messages$",
    re.IGNORECASE,
)

# Switches of frameworks that put something volatile into the system prompt -> (kind, granularity, what it adds). Read
# in phidata 2.4 to 2.7, agno 1.0 to 3.1 and crewai 0.130 to 1.15.
FLAGS: dict[str, tuple[str, str, str]] = {
    "add_datetime_to_context": ("flag", "microsecond", "the current time"),
    "add_datetime_to_instructions": ("flag", "microsecond", "the current time"),
    # Looked up by the address of the machine that runs the agent, not of its user.
    "add_location_to_context": ("flag", "host", "the location of this machine"),
    "add_location_to_instructions": ("flag", "host", "the location of this machine"),
    "inject_date": ("flag", "day", "the current date"),
    "add_memories_to_context": ("flag", "user", "what is remembered of the user"),
}
# Keywords beside a switch that give the format of its time.
FLAG_FORMATS = {"add_datetime_to_context": "datetime_format", "inject_date": "date_format"}
# Switches that wrote elsewhere before: package and first release in which the tables are true. Until then crewai put
# the date into the description of the task, which is a user message.
FLAGS_SINCE: dict[str, tuple[str, tuple[int, ...]]] = {"inject_date": ("crewai", (1, 15, 15))}
# The packages that have those switches: in their own repositories, classes of these folders mean what the table says.
FLAG_PACKAGES = frozenset(("agno", "phi", "crewai"))
