"""One source problem: write variants, solve them blind, measure them, and try again with feedback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eduardo.answers import Grader, check_key, is_whole_number
from eduardo.errors import RequestRefused
from eduardo.llm import TokenUsage, counted
from eduardo.posttest import Solver, measure_solve_rate, solve_cold
from eduardo.seeds import derive_seed
from eduardo.transfer_generation.near_copies import NearCopies
from eduardo.transfer_generation.outcome import Draft, Kept, NotMeasured, Reason, Round, Row, Variant
from eduardo.transfer_generation.rewriter import Rewriter
from eduardo.transfer_generation.settings import GenerationSettings
from eduardo.transfer_generation.source import SourceProblem
from eduardo.types import Attempt, Outcome, Problem, SolveRate

Refusal = tuple[Reason, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What it takes to work on a row. `solver` is the rewriter taking tests."""

    settings: GenerationSettings
    rewriter: Rewriter
    solver: Solver
    student: Solver
    grader: Grader
    sources: NearCopies


async def work_on(source: SourceProblem, tools: Tools) -> Row:
    """All variants of one problem. The result depends on seed, problem and endpoints only, never on other rows.

    An endpoint that refuses this very problem ends its rounds. Raises NotMeasured or another EndpointError when the
    endpoints fail: nothing is then known about the row.
    """
    row = _Work(source, tools)
    source_rate: SolveRate | None = None
    variants: list[Variant] = []
    try:
        source_rate = await row.solve_rate(source.problem, "source")
    except RequestRefused as error:
        variants.append(Variant(index=1, rounds=(row.refused(1, 1, error),)))
    else:
        for index in range(1, tools.settings.variants_per_problem + 1):
            taken = [variant.choice.draft for variant in variants if variant.choice and variant.choice.draft]
            variants.append(await row.variant(index, source_rate, taken))
    return Row(
        source_id=source.id,
        source_rate=source_rate,
        variants=tuple(variants),
        rewriter_usage=row.rewriter_usage,
        student_usage=row.student_usage,
    )


class _Work:
    """The calls for one source problem, with what they cost."""

    def __init__(self, source: SourceProblem, tools: Tools) -> None:
        self._source, self._tools, self._settings = source, tools, tools.settings
        self.rewriter_usage, self.student_usage = TokenUsage(), TokenUsage()

    async def variant(self, index: int, source_rate: SolveRate, taken: Sequence[Draft]) -> Variant:
        """Rounds until one is accepted, the rewriter or an endpoint refuses, or none is left."""
        rounds: list[Round] = []
        for number in range(1, self._settings.rewrite.extra_rounds + 2):
            try:
                rounds.append(await self._round(index, number, source_rate, taken, rounds))
            except RequestRefused as error:
                rounds.append(self.refused(index, number, error))
                break
            reason = rounds[-1].reason
            if reason is None:
                return Variant(index=index, rounds=tuple(rounds), kept=Kept.ACCEPTED, chosen=number)
            if reason is Reason.REFUSED:
                break
        closest = _closest(rounds, source_rate) if self._settings.rewrite.keep_closest else None
        if closest is None:
            return Variant(index=index, rounds=tuple(rounds))
        return Variant(index=index, rounds=tuple(rounds), kept=Kept.CLOSEST, chosen=closest.number)

    def refused(self, index: int, number: int, error: RequestRefused) -> Round:
        return Round(
            number=number,
            seed=self._seed("rewrite", index, number),
            draft=None,
            reason=Reason.ENDPOINT_REFUSED,
            detail=str(error),
        )

    async def solve_rate(self, problem: Problem, *seed_parts: str | int) -> SolveRate:
        """The student's cold solve rate. Raises NotMeasured."""
        how = self._settings.solve_rate
        with counted(self.student_usage):
            rate = await measure_solve_rate(
                problem,
                student=self._tools.student,
                grader=self._tools.grader,
                num_samples=how.num_samples,
                min_graded=how.min_graded,
                max_tokens=how.max_tokens,
                temperature=how.temperature,
                seed=self._seed("solve rate", *seed_parts),
            )
        if rate is None:
            raise NotMeasured(f"the student's endpoint returned fewer than {how.min_graded} usable attempts")
        return rate

    async def _round(
        self,
        index: int,
        number: int,
        source_rate: SolveRate,
        taken: Sequence[Draft],
        earlier: Sequence[Round],
    ) -> Round:
        seed = self._seed("rewrite", index, number)
        with counted(self.rewriter_usage):
            reply = await self._tools.rewriter.write(self._source, taken=taken, refused=earlier, seed=seed)
        if not isinstance(reply, Draft):
            return Round(number=number, seed=seed, draft=None, reason=reply[0], detail=reply[1])
        refusal = (
            self._near_copy(reply, taken) or self._unclean(reply) or await self._blind(reply, index, number)
        )
        if refusal is not None:
            return Round(number=number, seed=seed, draft=reply, reason=refusal[0], detail=refusal[1])
        rate = await self.solve_rate(
            Problem(text=reply.problem, answer=reply.answer), "variant", index, number
        )
        reason, detail = self._difficulty(rate, source_rate) or (None, "")
        return Round(number=number, seed=seed, draft=reply, reason=reason, detail=detail, rate=rate)

    def _near_copy(self, draft: Draft, taken: Sequence[Draft]) -> Refusal | None:
        label = self._tools.sources.find(draft.problem)
        if label is None and taken:
            named = ((f"variant {index}", other.problem) for index, other in enumerate(taken, start=1))
            label = NearCopies(self._settings.near_copies.similarity, named).find(draft.problem)
        if label is None:
            return None
        what = "the source problem" if label == self._source.id else f"problem {label}"
        return Reason.NEAR_COPY, f"same numbers and nearly the same words as {what}"

    def _unclean(self, draft: Draft) -> Refusal | None:
        if (complaint := check_key(draft.answer)) is not None:
            return Reason.UNCLEAN_ANSWER, complaint
        if is_whole_number(self._source.problem.answer) and not is_whole_number(draft.answer):
            return Reason.UNCLEAN_ANSWER, "the source's answer is a whole number, so this one must be too"
        return None

    async def _blind(self, draft: Draft, index: int, number: int) -> Refusal | None:
        """Whether the rewriter finds the stated answer again without seeing it. Raises NotMeasured."""
        how = self._settings.blind_solve
        with counted(self.rewriter_usage):
            attempts = await solve_cold(
                Problem(text=draft.problem, answer=draft.answer),
                student=self._tools.solver,
                grader=self._tools.grader,
                num_attempts=how.num_samples,
                max_tokens=how.max_tokens,
                temperature=how.temperature,
                seed=self._seed("blind", index, number),
            )
        fault = next((one.fault for one in attempts if one.grade is None), None)
        if fault is not None:
            raise NotMeasured(f"a blind solve did not come back: {fault}")
        return await self._compare(draft, attempts)

    async def _compare(self, draft: Draft, attempts: Sequence[Attempt]) -> Refusal | None:
        """A strict majority must be right, and the second grader must not object to answers in other words."""
        grades = [one.grade for one in attempts if one.grade is not None]
        right = [grade.answer for grade in grades if grade.outcome is Outcome.RIGHT]
        if 2 * len(right) <= len(grades):
            found = ", ".join(str(grade.answer) for grade in grades)
            return Reason.NOT_REPRODUCED, f"stated {draft.answer!r}, blind solve: {found}"
        for answer in dict.fromkeys(right):
            if answer is None or answer == draft.answer:
                continue
            if await self._tools.grader.second_opinion(draft.answer, answer) is Outcome.WRONG:
                return Reason.GRADERS_DISAGREE, f"stated {draft.answer!r}, blind solve {answer!r}"
        return None

    def _difficulty(self, rate: SolveRate, source_rate: SolveRate) -> Refusal | None:
        limits = self._settings.solve_rate
        facts = f"solved {rate.value:.0%} of the time, the source problem {source_rate.value:.0%}"
        if rate.value > limits.max_variant_rate:
            return Reason.TOO_EASY, f"{facts}; make it harder"
        if abs(rate.value - source_rate.value) > limits.max_rate_gap:
            wanted = "harder" if rate.value > source_rate.value else "easier"
            return Reason.RATE_GAP, f"{facts}; make it {wanted}"
        return None

    def _seed(self, *parts: str | int) -> int:
        return derive_seed(self._settings.seed, "transfer", self._source.id, *parts)


def _closest(rounds: Sequence[Round], source_rate: SolveRate) -> Round | None:
    """The sound variant whose rate is closest to the source's; the earliest of equals."""
    sound = [
        (abs(one.rate.value - source_rate.value), one.number, one)
        for one in rounds
        if one.rate is not None and one.reason is not None and one.reason.is_sound
    ]
    return min(sound, key=lambda found: found[:2])[2] if sound else None
