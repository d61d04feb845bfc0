"""How a training ends: quasi-Newton steps, until nothing is gained."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic import TrainingConfig
from ultrahyperbolic.training import embed_many
from ultrahyperbolic.training.method import recipe

KARATE = uh.datasets.karate()


def configured(p=2, q=2, seed=0, iterations=100, finish=0.3, stop="iterations", **settings):
    made = recipe(TrainingConfig(p, q, seed=seed, iterations=iterations, stop=stop), KARATE)
    return replace(made, finish=finish, **settings)


def losses(embedding):
    assert embedding.record.loss_every == 1
    return np.array(embedding.record.loss)


@pytest.mark.parametrize(("p", "q"), [(2, 2), (3, 0), (0, 3)])
def test_no_iteration_of_the_finish_raises_the_loss(p, q):
    (found,) = embed_many(KARATE, [configured(p, q, iterations=200, finish=0.5)], measures=False)
    finish = losses(found)[100:]
    assert len(finish) == 100
    assert (np.diff(finish) <= 0.0).all()
    assert finish[-1] < 0.95 * losses(found)[99]
    assert found.record.result.final_loss == pytest.approx(finish[-1])


def test_in_flat_space_too():
    made = recipe(TrainingConfig(flat=3, iterations=100), KARATE)
    (found,) = embed_many(KARATE, [replace(made, finish=0.3)], measures=False)
    assert (np.diff(losses(found)[70:]) <= 0.0).all()


def test_it_stops_when_it_has_converged_and_only_where_that_is_asked_for():
    # So warm that there is soon nothing to gain.
    asked = [
        configured(iterations=400, finish=0.9, stop=stop, temperature=(1e4, 1e4))
        for stop in ("converged", "iterations")
    ]
    converged, all_of_them = (embed_many(KARATE, [each], measures=False)[0] for each in asked)
    assert converged.record.stopped.text == "converged"
    assert 40 < converged.record.result.iterations < 400
    assert not converged.record.unfinished
    assert all_of_them.record.result.iterations > converged.record.result.iterations
    assert all_of_them.record.result.final_loss <= converged.record.result.final_loss


def soon_and_late():
    """A training that is so warm that it soon has nothing to gain, and one that has to the last."""
    late = configured(
        iterations=200, finish=0.8, stop="converged", start="pole", centrality=0.0, popularity=False
    )
    late = replace(late, temperature=(0.04, 7e-4))
    return [replace(late, temperature=(1e4, 1e4)), late]


def test_run_k_of_a_batch_is_that_run_alone_to_the_end():
    """One that has come to rest is not woken when the others begin another block."""
    batch = embed_many(KARATE, soon_and_late(), measures=False)
    assert [each.record.stopped.text for each in batch] == ["converged", "reached 200 iterations"]
    for number, each in enumerate(soon_and_late()):
        (alone,) = embed_many(KARATE, [each], measures=False)
        assert np.array_equal(alone.points, batch[number].points)
        assert alone.record.loss == batch[number].record.loss
        assert alone.record.result == batch[number].record.result
        assert alone.record.stopped == batch[number].record.stopped


def test_a_training_gone_on_with_in_its_finish_comes_to_the_same_end():
    kept = []

    def keep(progress):
        found = progress.checkpoint()
        state = replace(
            found.state,
            **{
                name: getattr(found.state, name).copy()
                for name in ("points", "best", "record", "rested")
            },
        )
        kept.append(replace(found, state=state))

    configs = soon_and_late()
    whole = embed_many(KARATE, configs, measures=False, callbacks=[keep])
    assert len(kept) > 5
    for checkpoint in (kept[len(kept) // 2], kept[-2]):
        again = embed_many(KARATE, configs, measures=False, checkpoint=checkpoint)
        for one, other in zip(whole, again, strict=True):
            assert np.array_equal(one.points, other.points)
            assert one.record.result == other.record.result
            assert one.record.loss == other.record.loss


def test_ctrl_c_in_the_finish_keeps_what_it_has_gained():
    def press(progress):
        if progress.iteration == 85:
            raise KeyboardInterrupt

    with pytest.raises(uh.Interrupted) as raised:
        embed_many(KARATE, [configured()], measures=False, callbacks=[press])
    (found,) = raised.value.embeddings
    assert found.record.result.iterations == 85
    assert found.record.result.final_loss == pytest.approx(losses(found)[-1])
    assert losses(found)[-1] < losses(found)[69]


def test_a_step_is_given_up_between_its_passes_where_someone_asks():
    passes, most = [], math.inf

    def asked():
        passes.append(1)
        return len(passes) > most

    embed_many(KARATE, [configured(seed=1)], measures=False, asked=asked)
    most = len(passes) // 2
    passes.clear()
    with pytest.raises(uh.Interrupted) as raised:
        embed_many(KARATE, [configured(seed=1)], measures=False, asked=asked)
    (found,) = raised.value.embeddings
    assert len(passes) == most + 1
    assert 70 < found.record.result.iterations < 100
    assert losses(found)[-1] < losses(found)[69]


def test_trainings_of_a_batch_share_where_the_finish_begins():
    with pytest.raises(ValueError, match="must agree on iterations, finish"):
        embed_many(KARATE, [configured(), configured(finish=0.5)])
