"""Messages of a server against the official JSON schema of their revision. Those of the tasks
extension too, where HUTCH_TASKS_SCHEMA is the path of its schema/draft/schema.json
(https://github.com/modelcontextprotocol/ext-tasks)."""

import functools
import json
import os
import pathlib

SCHEMAS = pathlib.Path(__file__).parent / "mcp_schemas"
MODERN = "2026-07-28"
TASKS = "io.modelcontextprotocol/tasks"

# Method to the definition of its result.
RESULTS = {
    "initialize": "InitializeResult", "server/discover": "DiscoverResult", "ping": "EmptyResult",
    "logging/setLevel": "EmptyResult", "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult", "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult", "resources/subscribe": "EmptyResult",
    "resources/unsubscribe": "EmptyResult", "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult", "completion/complete": "CompleteResult",
    "subscriptions/listen": "SubscriptionsListenResult", "tasks/get": "GetTaskResult",
    "tasks/list": "ListTasksResult", "tasks/cancel": "CancelTaskResult",
    "tasks/result": "CallToolResult"}

# These are the tasks extension's, whose schema is another.
OF_THE_EXTENSION = {"tasks/get": "GetTaskResult", "tasks/update": "UpdateTaskResult",
                    "tasks/cancel": "CancelTaskResult", "notifications/tasks": "TaskStatusNotification"}
TASKS_SCHEMA = os.environ.get("HUTCH_TASKS_SCHEMA")


@functools.cache
def _definitions(revision):
    path = TASKS_SCHEMA if revision == TASKS else SCHEMAS / f"{revision}.json"
    schema = json.loads(pathlib.Path(path).read_text())
    return schema, "definitions" if "definitions" in schema else "$defs"


@functools.cache
def _validator(revision, name):
    import jsonschema  # now: most suites of runners see no message, and it takes a tenth of a second

    schema, key = _definitions(revision)
    if name not in schema[key]:
        return None
    whole = {**schema, "$ref": f"#/{key}/{name}"}
    return jsonschema.validators.validator_for(schema)(whole)


def _best_match(errors):
    import jsonschema

    return jsonschema.exceptions.best_match(errors)


def _wrong(revision, names, value):
    """Why `value` is none of these definitions; None when it is one."""
    why = None
    for name in names:
        validator = _validator(revision, name)
        if validator is None:
            continue
        if validator.is_valid(value):
            return None
        error = _best_match(validator.iter_errors(value))
        why = f"{revision} {name}: {error.json_path}: {error.message[:300]}"
    return why or f"{revision} has none of {names}"


def _wrong_in_extension(name, value):
    return _wrong(TASKS, [name], value) if TASKS_SCHEMA else None


def result_definitions(revision, method, result):
    if revision == MODERN and result.get("resultType") == "input_required":
        return ["InputRequiredResult"]
    if revision == "2025-11-25" and method == "tools/call" and "task" in result:
        return ["CreateTaskResult"]
    return [RESULTS[method]]


def wrong_message(revision, message, method=None):
    """Returns what is wrong with a message a server has sent; None when nothing is. `method`: that of the request
    that it answers; None for an answer to what could not be read."""
    if isinstance(message, list):
        return next(filter(None, (wrong_message(revision, one, method) for one in message)), None)
    if "method" in message:
        if revision == MODERN and message["method"] in OF_THE_EXTENSION:
            return (_wrong(revision, ["JSONRPCNotification"], message) or
                    _wrong_in_extension(OF_THE_EXTENSION[message["method"]], message))
        names = ["ServerRequest" if "id" in message else "ServerNotification"]
        envelope = "JSONRPCRequest" if "id" in message else "JSONRPCNotification"
        return _wrong(revision, [envelope], message) or _wrong(revision, names, message)
    if "error" in message:
        if message.get("id", 0) is None:  # JSON-RPC says null; the older schemas know no such id
            message = {**message, "id": 0}
        return _wrong(revision, ["JSONRPCErrorResponse", "JSONRPCError"], {"id": 0, **message})
    why = _wrong(revision, ["JSONRPCResultResponse", "JSONRPCResponse"], message)
    if why or method is None:
        return why
    if revision == MODERN and message["result"].get("resultType") == "task":
        return _wrong_in_extension("CreateTaskResult", message["result"])
    if revision == MODERN and method in OF_THE_EXTENSION:
        return _wrong_in_extension(OF_THE_EXTENSION[method], message["result"])
    return _wrong(revision, result_definitions(revision, method, message["result"]),
                  message["result"])
