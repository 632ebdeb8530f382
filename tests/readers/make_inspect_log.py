"""Write tests/readers/inspect/quiz.eval with Inspect AI itself, and a model that only pretends:

    python -m tests.readers.make_inspect_log

where inspect_ai is installed (`make test-host-inspect_ai` makes such an environment). Identifiers and times differ each
time, all else does not. There is a sample for each case: all marks, confidences as numbers and in words, none, no score,
and an error.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import write_eval_log
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    Logprob,
    Logprobs,
    ModelOutput,
    ModelUsage,
    TopLogprob,
    get_model,
)
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import generate

from tests.readers.inspect_cases import CONFIDENCES, LOG, MARKS

LETTERS = "ABCD"
N = 12


def answered(input, tools, tool_choice, config):
    """Answer a question with a letter, and the log probability of every token; question 11 fails."""
    number = int(input[-1].text.split()[1])
    asked[number] += 1
    if number == 11:
        raise ValueError("the model is <b>down</b>")
    letter = LETTERS[(number + asked[number]) % 4]
    p = 0.3 + 0.05 * number
    content = [Logprob(token=token, logprob=-0.01) for token in ("ANSWER", ":")]
    top = [TopLogprob(token=f" {letter}", logprob=math.log(p)), TopLogprob(token=" E", logprob=math.log(0.1))]
    content.append(Logprob(token=f" {letter}", logprob=math.log(p), top_logprobs=top))
    choice = ChatCompletionChoice(
        message=ChatMessageAssistant(content=f"ANSWER: {letter}"), logprobs=Logprobs(content=content)
    )
    usage = ModelUsage(input_tokens=4, output_tokens=3, total_tokens=7)
    return ModelOutput(model="mockllm/model", choices=[choice], usage=usage)


asked: Counter[int] = Counter()


@scorer(metrics=[accuracy()])
def graded():
    """Mark an answer as the table says, with the confidence that the model stated; question 8 has no score."""

    async def score(state, target):
        number = int(state.sample_id)
        stated = CONFIDENCES[number]
        metadata = {} if stated is None else {"confidence": stated}
        if number == 8 and state.epoch == 2:
            return Score.unscored(reason="grader_failed", answer=state.output.completion[-1], metadata=metadata)
        return Score(value=MARKS[number], answer=state.output.completion[-1], metadata=metadata)

    return score


@scorer(metrics=[accuracy()])
def letter():
    """Compare the letter with the target."""

    async def score(state, target):
        found = state.output.completion[-1]
        return Score(value="C" if found == target.text else "I", answer=found)

    return score


def main() -> None:
    dataset = [
        Sample(
            id=k,
            input=f"Question {k} ?",
            target=LETTERS[(k + k % 3) % 4],
            metadata={"topic": "art" if k % 2 else "law"},
        )
        for k in range(N)
    ]
    task = Task(dataset=dataset, solver=generate(), scorer=[graded(), letter()], epochs=2, name="quiz")
    model = get_model("mockllm/model", custom_outputs=answered)
    with tempfile.TemporaryDirectory() as folder:
        log = eval(task, model=model, log_dir=folder, display="none", fail_on_error=False, max_samples=1)[0]
        log.eval.revision = None
        for sample in log.samples or []:  # what says nothing here and takes most of the space
            sample.events, sample.attachments, sample.events_data = [], {}, None
            if sample.error is not None:
                sample.error.traceback = sample.error.traceback_ansi = ""
        LOG.parent.mkdir(exist_ok=True)
        write_eval_log(log, str(LOG), format="eval")


if __name__ == "__main__":
    main()
