"""What every implementation of `Tables` must do, as a journal over it shows.

    @pytest.mark.parametrize("check", SUITE)
    def test_my_tables(check): check(MyTables())
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from controller.core.action import EffectClass
from controller.core.aim import Aim
from controller.core.errors import LeaseLost, SetupError, StaleHead, StateError
from controller.core.gates import admit
from controller.core.head import Asking, Lease, Owner, RunId, Stop, Stopped
from controller.core.miss import Miss, Overloaded
from controller.core.ports import Missed
from controller.core.prompt import render
from controller.core.records import Call, Candidate, Effect, Outcome, Remains, Reply, Status
from controller.core.settle import settle
from controller.store.journal import Journal
from controller.store.leases import LEASE
from controller.store.people import Desk
from controller.store.tables import Tables
from controller.testing.clock import MORNING
from controller.testing.world import ME, RUN, SEAL, World, command

AIM = Aim(EffectClass.WORKSPACE, "the worktree", "the command has ended")
MISSED = Missed(Miss(Overloaded(), "busy"), Asking("model", 1, MORNING, MORNING, "busy"),
                "asked again", None, MORNING, 10, MORNING)
OTHER = Owner("elsewhere", 2, "boot/2")


def a_run_is_found_as_it_was_created(tables: Tables) -> None:
    """Launch, head and audit trail of a new run."""
    world = World(tables=tables)
    head = world.open()
    assert world.queries.runs() == (RUN,)
    assert world.queries.launch(RUN).goal == "Make it green."
    assert world.store.head(RUN) == head
    assert [record["kind"] for record in world.queries.audit(RUN)] == ["created"]


def a_run_is_created_once(tables: Tables) -> None:
    """A second run of the same id is refused and changes nothing."""
    world = World(tables=tables)
    head = world.open()
    _raises(StateError, lambda: world.store.create(world.controller().launch, head, ()))
    assert len(list(world.queries.audit(RUN))) == 1


def an_unknown_run_is_a_state_error(tables: Tables) -> None:
    """Nothing is made up for a run that does not exist."""
    _raises(StateError, lambda: Journal(tables, lambda _: True, SEAL).head(RunId("nobody")))


def a_held_run_is_not_leased_twice(tables: Tables) -> None:
    """The second controller is told who holds it, and the first goes on undisturbed."""
    world = World(tables=tables)
    world.model.replies(command("write app.py 1"))
    world.open()
    with world.lease():
        _raises(LeaseLost, lambda: world.store.lease(RUN, OTHER, MORNING).__enter__())
    assert world.queries.holder(RUN) is None


def a_dead_holder_is_taken_over_at_once(tables: Tables) -> None:
    """A lease whose holder is not alive binds nobody."""
    world = World(tables=tables, alive=False)
    world.open()
    world.store.lease(RUN, OTHER, MORNING).__enter__()
    with world.lease() as lease:
        assert lease.token == 2


def a_holder_who_renews_is_not_taken_over(tables: Tables) -> None:
    """However long his action takes."""
    world = World(tables=tables)
    world.open()
    lease = world.store.lease(RUN, OTHER, MORNING).__enter__()
    for number in range(1, 20):
        world.store.renew(lease, MORNING + number * LEASE / 2)
    late = MORNING + 10 * LEASE
    _raises(LeaseLost, lambda: world.store.lease(RUN, ME, late).__enter__())


def a_frozen_holder_can_write_nothing_after_he_was_taken_over(tables: Tables) -> None:
    """Stopped past his lease and woken up: he neither begins, commits, stops nor renews, and the
    worktree that he may still touch is not the one of who came after him.
    """
    world, (first, candidate, call) = _asked(tables)
    facts = world.authority.observe(world.head)
    effect = world.store.begin(first, candidate, AIM, facts, call)
    outcome = world.executor.perform(effect)
    step = settle(effect, outcome, (), world.rules)
    before = len(list(world.queries.audit(RUN)))
    late = MORNING + LEASE + timedelta(seconds=1)
    with world.store.lease(RUN, OTHER, late) as second:
        for write in (lambda: world.store.commit(first, step, late),
                      lambda: world.store.doubt(first, effect, outcome, {}, late),
                      lambda: world.store.stop(first, None, late),
                      lambda: world.store.miss(first, MISSED, late),
                      lambda: world.store.renew(first, late),
                      lambda: world.store.check(first)):
            _raises(LeaseLost, write)
        assert (first.worktree, second.worktree) == (0, 2)
    assert world.store.open_effect(RUN) is not None
    assert len(list(world.queries.audit(RUN))) == before


def a_dead_holder_leaves_his_worktree_to_the_next(tables: Tables) -> None:
    """Nobody can wake up in it."""
    world = World(tables=tables, alive=False)
    world.open()
    world.store.lease(RUN, OTHER, MORNING).__enter__()
    with world.lease() as lease:
        assert lease.worktree == 0


def what_is_found_open_is_recorded_before_anything_is_done(tables: Tables) -> None:
    """A person's word counts where the world can't tell, and only there."""
    world, lease, effect = _doubted(tables)
    unknown = Remains(None, "nobody can tell")
    assert world.store.find(lease, effect, unknown, MORNING) == unknown
    Desk(tables, SEAL).decide(RUN, "u1", happened=False, now=MORNING)
    assert world.store.find(lease, effect, Remains(True, "seen"), MORNING).happened is True
    assert world.store.find(lease, effect, unknown, MORNING).happened is False
    kinds = [record["kind"] for record in world.queries.audit(RUN)]
    assert kinds == ["created", "unknown", "found", "decided", "found", "found"]


def what_a_person_said_of_an_outcome_counts_once(tables: Tables) -> None:
    """He spoke of what had been; it may have happened since, and is asked about again."""
    world, lease, effect = _doubted(tables)
    unknown = Remains(None, "nobody can tell")
    Desk(tables, SEAL).decide(RUN, "u1", happened=False, now=MORNING)
    found = [world.store.find(lease, effect, unknown, MORNING).happened for _ in range(2)]
    assert found == [False, None]


def nobody_wakes_a_run_that_does_not_go_on_here(tables: Tables) -> None:
    """Neither a message nor an answer."""
    world = World(tables=tables)
    world.model.replies({"kind": "ask", "question": "Which?"})
    world.go()
    desk = Desk(tables, SEAL)
    for why in (Stop.MOVED, Stop.ABORTED):
        with world.lease() as lease:
            world.store.stop(lease, Stopped(why, "."), MORNING)
        _raises(SetupError, lambda: desk.say(RUN, "The left one", MORNING))
        _raises(SetupError, lambda: desk.answer(RUN, "q1", approve=True, reason="", now=MORNING))
        _raises(SetupError, lambda: desk.decide(RUN, "u1", happened=True, now=MORNING))
        assert world.head.stopped == Stopped(why, ".")


def a_run_that_goes_on_elsewhere_leaves_its_open_effect_to_that_place(tables: Tables) -> None:
    """Two controllers would do it."""
    world, (lease, candidate, call) = _asked(tables)
    effect = world.store.begin(lease, candidate, AIM, world.authority.observe(world.head), call)
    world.store.stop(lease, Stopped(Stop.MOVED, "."), MORNING)
    world.alive = False
    head = world.go()
    assert head.stopped == Stopped(Stop.MOVED, ".")
    assert world.files.writes == []
    assert world.store.open_effect(RUN) == replace(
        effect, candidate=replace(effect.candidate, base=head))


def a_lease_that_ran_out_is_taken_over(tables: Tables) -> None:
    """From a holder who can't be looked at; his next write is refused."""
    world, (first, candidate, call) = _asked(tables)
    facts = world.authority.observe(world.head)
    world.alive = None
    _raises(LeaseLost, lambda: world.store.lease(RUN, OTHER, MORNING).__enter__())
    world.clock.time = MORNING + LEASE + timedelta(seconds=1)
    with world.store.lease(RUN, OTHER, world.clock.now()):
        _raises(LeaseLost, lambda: world.store.begin(first, candidate, AIM, facts, call))
    assert world.store.open_effect(RUN) is None


def an_effect_is_open_until_it_is_committed(tables: Tables) -> None:
    """`begin` leaves what recovery needs; `commit` takes it away and advances the head."""
    world, (lease, candidate, call) = _asked(tables)
    effect = world.store.begin(lease, candidate, AIM, world.authority.observe(world.head), call)
    assert world.store.open_effect(RUN) == effect
    assert world.head.spent.steps == 1
    world.alive = False
    assert world.go(steps=0).version == 1
    assert world.store.open_effect(RUN) is None


def an_open_effect_is_not_overwritten(tables: Tables) -> None:
    """At most one is open; a second `begin` writes nothing."""
    world, (lease, candidate, call) = _asked(tables)
    facts = world.authority.observe(world.head)
    effect = world.store.begin(lease, candidate, AIM, facts, call)
    _raises(StateError, lambda: world.store.begin(lease, candidate, AIM, facts, call))
    assert world.store.open_effect(RUN) == effect
    assert world.head.spent.steps == 1


def a_stale_head_is_refused(tables: Tables) -> None:
    """What was made for another version is not written."""
    world, (lease, candidate, call) = _asked(tables)
    stale = replace(candidate, base=replace(candidate.base, version=7))
    facts = world.authority.observe(world.head)
    _raises(StaleHead, lambda: world.store.begin(lease, stale, AIM, facts, call))
    assert world.head.spent.steps == 0


def artifacts_are_found_by_the_beginning_of_their_digest(tables: Tables) -> None:
    """Eight characters on, when only one begins so."""
    with tables.transaction():
        tables.put_artifact("ab" * 32, b"one")
        tables.put_artifact("ab" * 31 + "cd", b"two")
        tables.put_artifact("ef" * 32, b"three")
    assert tables.artifact("ab" * 32) == b"one"
    assert tables.artifact("ef" * 4) == b"three"
    assert tables.artifact("ab" * 8) is None
    assert tables.artifact("efef") is None


def a_failed_transaction_leaves_no_trace(tables: Tables) -> None:
    """All of it or nothing."""
    world = World(tables=tables)
    before = world.open()

    def half() -> None:
        with tables.transaction():
            tables.put_artifact("cd" * 32, b"half")
            tables.put_message(RUN, "half", "now")
            raise StateError("in the middle")

    _raises(StateError, half)
    assert tables.artifact("cd" * 32) is None
    assert tables.messages(RUN, 0) == ()
    assert world.head == before


def the_audit_chain_holds(tables: Tables) -> None:
    """Every link follows the one before it."""
    world = World(tables=tables)
    world.model.replies(command("write app.py 1"))
    world.model.says(b"not JSON")
    world.model.replies({"kind": "ask", "question": "Which?"})
    head = world.go()
    assert head.stopped is not None
    assert head.stopped.why is Stop.WAITING
    assert world.queries.broken_link(RUN) is None
    kinds = [record["kind"] for record in world.queries.audit(RUN)]
    assert kinds == ["created", "committed", "refused", "committed"]


def messages_are_heard_in_order_and_once(tables: Tables) -> None:
    """What the user said is read from where the head had heard."""
    world = World(tables=tables)
    world.open()
    with tables.transaction():
        first = tables.put_message(RUN, "one", "now")
        tables.put_message(RUN, "two", "now")
    assert [message.text for message in world.store.inbox.messages(RUN, 0)] == ["one", "two"]
    assert [message.text for message in world.store.inbox.messages(RUN, first)] == ["two"]


def _doubted(tables: Tables) -> tuple[World, Lease, Effect]:
    """A run whose external effect nobody can tell the outcome of."""
    world, (lease, candidate, call) = _asked(tables)
    outside = Aim(EffectClass.EXTERNAL, "deploy it", "it is there")
    effect = world.store.begin(lease, candidate, outside, world.authority.observe(world.head), call)
    world.store.doubt(lease, effect, Outcome(Status.UNKNOWN, "?", effect.source),
                      effect.candidate.base.state, MORNING)
    return world, lease, effect


def _asked(tables: Tables) -> tuple[World, tuple[Lease, Candidate, Call]]:
    """A world whose model has been asked once: the lease is held, nothing is begun."""
    world = World(tables=tables)
    world.model.replies(command("write app.py 1"))
    head = world.open()
    lease = world.store.lease(RUN, ME, MORNING).__enter__()
    prompt = render(world.rules, head)
    said = world.model.propose(prompt)
    assert isinstance(said, Reply)
    call = Call(prompt, said, MORNING)
    candidate, _ = admit(call, head, world.authority.observe(head), world.rules)
    return world, (lease, candidate, call)


def _raises(kind: type[Exception], call: Callable[[], object]) -> None:
    try:
        call()
    except kind:
        return
    raise AssertionError(f"expected {kind.__name__}")


SUITE: tuple[Callable[[Tables], None], ...] = (
    a_run_is_found_as_it_was_created,
    a_run_is_created_once,
    an_unknown_run_is_a_state_error,
    a_held_run_is_not_leased_twice,
    a_dead_holder_is_taken_over_at_once,
    a_holder_who_renews_is_not_taken_over,
    a_frozen_holder_can_write_nothing_after_he_was_taken_over,
    a_dead_holder_leaves_his_worktree_to_the_next,
    what_is_found_open_is_recorded_before_anything_is_done,
    what_a_person_said_of_an_outcome_counts_once,
    nobody_wakes_a_run_that_does_not_go_on_here,
    a_run_that_goes_on_elsewhere_leaves_its_open_effect_to_that_place,
    a_lease_that_ran_out_is_taken_over,
    an_effect_is_open_until_it_is_committed,
    an_open_effect_is_not_overwritten,
    a_stale_head_is_refused,
    artifacts_are_found_by_the_beginning_of_their_digest,
    a_failed_transaction_leaves_no_trace,
    the_audit_chain_holds,
    messages_are_heard_in_order_and_once,
)
"""Every check; each wants empty tables."""
