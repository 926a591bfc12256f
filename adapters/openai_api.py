"""The OpenAI APIs, Responses and Chat Completions, of OpenAI or of any server that speaks them.

Strict structured output asks for the ops dialect; without it the reply is a plain JSON object in
the merge dialect. The SDK's own retries are off.
"""

from dataclasses import dataclass
from typing import Any

from adapters.bounded_call import within
from adapters.dialect import from_ops, ops_schema
from controller.core.errors import ControllerError, ModelUnavailable, ModelUnusable
from controller.core.records import Prompt, Reply, Usage


@dataclass(frozen=True, slots=True)
class OpenAiApi:
    """A model over HTTP. `api` is "responses" or "chat"; times in seconds."""

    model: str
    key: str
    base_url: str | None = None
    api: str = "responses"
    strict: bool = True
    max_output_tokens: int = 8192
    total_timeout: float = 600.0
    idle_timeout: float = 180.0

    @property
    def name(self) -> str:
        return f"openai_api:{self.model}"

    def propose(self, prompt: Prompt) -> Reply:
        import openai

        try:
            return within(self.total_timeout, lambda: self._call(prompt))
        except ControllerError:  # ours, and a lost lease
            raise
        except openai.APIStatusError as fault:
            raise _failure(fault.status_code, fault.message, fault.code) from fault
        except Exception as fault:  # the SDK lets httpx's and json's errors through
            where = self.base_url or "its own address"
            raise ModelUnavailable(f"openai at {where}: {type(fault).__name__}: {fault}"
                                   ) from fault

    def _call(self, prompt: Prompt) -> Reply:
        import openai

        with openai.OpenAI(api_key=self.key, base_url=self.base_url, max_retries=0,
                           timeout=self.idle_timeout) as client:
            if self.api == "chat":
                return self._decoded(*_chat(client.chat.completions.create(**self._chat(prompt))))
            return self._decoded(*_responses(client.responses.create(**self._responses(prompt))))

    def _decoded(self, text: str, usage: Usage, fault: str | None) -> Reply:
        body = text.encode("utf-8", "surrogatepass")
        if fault is not None:
            return Reply(body, usage, fault)
        return from_ops(body, usage) if self.strict else Reply(body, usage)

    def _responses(self, prompt: Prompt) -> dict[str, Any]:  # Any: arguments of the SDK's method
        form = {"type": "json_schema", "name": "transition", "strict": True,
                "schema": ops_schema(prompt.schema)} if self.strict else {"type": "json_object"}
        return {"model": self.model, "instructions": prompt.stable, "input": prompt.volatile,
                "store": False, "max_output_tokens": self.max_output_tokens,
                "text": {"format": form}}

    def _chat(self, prompt: Prompt) -> dict[str, Any]:  # Any: arguments of the SDK's method
        form = {"type": "json_schema", "json_schema": {
            "name": "transition", "strict": True, "schema": ops_schema(prompt.schema),
        }} if self.strict else {"type": "json_object"}
        return {"model": self.model, "max_completion_tokens": self.max_output_tokens,
                "messages": [{"role": "system", "content": prompt.stable},
                             {"role": "user", "content": prompt.volatile}],
                "response_format": form}


def _responses(response: Any) -> tuple[str, Usage, str | None]:
    if isinstance(response, str) or getattr(response, "status", None) is None:
        raise ModelUnavailable("openai: the server answered with something else than a response")
    details = response.incomplete_details
    fault = None
    if response.status == "incomplete":
        fault = f"your answer was cut off ({details.reason if details else 'no reason'}); send less"
    elif response.status != "completed":
        raise ModelUnavailable(f"openai: the response is {response.status}: {response.error}")
    refusals = [part.refusal for item in response.output if item.type == "message"
                for part in item.content if part.type == "refusal"]
    if refusals:
        fault = "you declined to answer; answer with the JSON object"
    usage = response.usage
    return response.output_text, _counted(
        getattr(usage, "input_tokens", None), getattr(usage, "output_tokens", None),
        getattr(usage, "input_tokens_details", None),
        getattr(usage, "output_tokens_details", None)), fault


def _chat(completion: Any) -> tuple[str, Usage, str | None]:
    if isinstance(completion, str) or not getattr(completion, "choices", None):
        raise ModelUnavailable("openai: the server answered with something else than a completion")
    choice = completion.choices[0]
    fault = {"stop": None, "length": "your answer was cut off: it is too long; send a shorter one",
             }.get(choice.finish_reason, "your answer did not end as an answer; send it again")
    if choice.message.refusal:
        fault = "you declined to answer; answer with the JSON object"
    usage = completion.usage
    return choice.message.content or "", _counted(
        getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None),
        getattr(usage, "prompt_tokens_details", None),
        getattr(usage, "completion_tokens_details", None)), fault


def _counted(taken: int | None, given: int | None, of_taken: object, of_given: object) -> Usage:
    """Usage as far as a server tells it: many leave out the details, some leave out all of it."""
    cached: int | None = getattr(of_taken, "cached_tokens", None)
    return Usage(input=None if taken is None else taken - (cached or 0), cache_read=cached,
                 output=given, reasoning=getattr(of_given, "reasoning_tokens", None))


def _failure(status: int, words: str, code: str | None) -> ModelUnavailable | ModelUnusable:
    said = f"openai: {status}: {words}"
    for_a_person = code in ("insufficient_quota", "billing_hard_limit_reached") or (
        400 <= status < 500 and status not in (408, 409, 429))
    return ModelUnusable(said) if for_a_person else ModelUnavailable(said)
