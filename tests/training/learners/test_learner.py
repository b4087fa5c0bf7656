"""What a learner claims about privacy, in words."""

import pytest

from hushpoll_training.learners.claim import PrivacyClaim, privacy_sentence


def test_learner_without_a_claim_says_that_it_adds_no_privacy():
    assert "adds no differential privacy" in privacy_sentence(PrivacyClaim().to_json())


@pytest.mark.parametrize(("delta", "said"), [(None, "(1.5, 0)-"), (1e-5, "(1.5, 1e-05)-")])
def test_sentence_of_a_central_claim_has_epsilon_and_delta(delta, said):
    """Guards: a learner of pure epsilon ended its training with a TypeError."""
    claim = PrivacyClaim(1.5, delta, "an accountant 1.0", "add or remove one row")
    sentence = privacy_sentence(claim.to_json())
    assert said in sentence
    assert "add or remove one row" in sentence
    assert "an accountant 1.0" in sentence
