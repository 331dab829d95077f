"""Against packages that nobody here wrote."""

import numpy as np
import pytest

import levytilt as lt

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("members", [2, 7, 100, 1000])
def test_golden_crps_of_scoringrules(members):
    import scoringrules

    draws = RNG.standard_t(2, (20, members)) * 10.0 ** RNG.uniform(-3, 3, (20, 1))
    truth = RNG.standard_t(2, 20)
    for fair, estimator in [(True, "fair"), (False, "nrg")]:
        expected = scoringrules.crps_ensemble(truth, draws, estimator=estimator, backend="numpy")
        np.testing.assert_allclose(lt.crps(draws, truth, fair=fair), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 10])
def test_golden_energy_score_of_scoringrules(dim):
    import scoringrules

    points, truth = RNG.standard_t(3, (5, 60, dim)), RNG.standard_t(3, (5, dim))
    for fair, estimator in [(True, "fair"), (False, "nrg")]:
        expected = scoringrules.es_ensemble(truth, points, estimator=estimator, backend="numpy")
        np.testing.assert_allclose(lt.energy_score(points, truth, fair=fair), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("p", [0.5, 1.0])
def test_golden_variogram_score_of_scoringrules(p):
    import scoringrules

    points, truth = RNG.standard_t(3, (5, 60, 4)), RNG.standard_t(3, (5, 4))
    expected = scoringrules.vs_ensemble(truth, points, p=p, backend="numpy")
    np.testing.assert_allclose(lt.variogram_score(points, truth, p=p), expected, rtol=1e-12, atol=1e-12)


def test_golden_tail_crps_of_scoringrules():
    import scoringrules

    draws, truth = RNG.standard_t(3, (20, 50)), RNG.standard_t(3, 20)
    for options, bounds in [({"above": 0.7}, {"a": 0.7}), ({"below": -0.2}, {"b": -0.2})]:
        expected = scoringrules.twcrps_ensemble(truth, draws, estimator="nrg", backend="numpy", **bounds)
        np.testing.assert_allclose(lt.tail_crps(draws, truth, fair=False, **options), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.3, 1.8, 2.0])
def test_golden_stable_law_of_scipy(alpha):
    """SciPy integrates to about 1e-8; its parametrisation is the same for symmetric laws."""
    from scipy.stats import levy_stable

    x = np.array([-20.0, -3.0, -0.5, 0.0, 0.1, 1.0, 5.0, 50.0])
    np.testing.assert_allclose(lt.stable_pdf(x, alpha), levy_stable.pdf(x, alpha, 0.0), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(lt.stable_cdf(x, alpha), levy_stable.cdf(x, alpha, 0.0), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        lt.stable_pdf(x, alpha, scale=2.5), levy_stable.pdf(x, alpha, 0.0, scale=2.5), rtol=1e-6, atol=1e-9
    )


def test_golden_evidence_of_a_gaussian_model_by_statsmodels():
    """OU with Gaussian noise on an even grid: x' = m + φ(x − m) + N(0, σ²Δ), the noise of the discretised model."""
    from statsmodels.tsa.statespace.mlemodel import MLEModel

    theta, mu, scale, error, x0_std = 0.8, 0.5, 1.2, 0.3, 0.7
    made = lt.simulate(noise="gaussian", theta=theta, mu=mu, scale=scale, observation_std=error, steps=200, span=20.0, seed=3)
    step = made.times[1] - made.times[0]
    phi = np.exp(-theta * step)

    class Ou(MLEModel):
        def __init__(self):
            super().__init__(made.values, k_states=1, k_posdef=1)
            self["design", 0, 0] = 1.0
            self["selection", 0, 0] = 1.0
            self["transition", 0, 0] = phi
            self["state_intercept", 0, 0] = mu * (1.0 - phi)
            self["state_cov", 0, 0] = scale**2 * step
            self["obs_cov", 0, 0] = error**2
            self.ssm.initialize_known(np.array([0.2]), np.array([[x0_std**2]]))

    expected = Ou().loglike([])
    given = {"theta": theta, "mu": mu, "scale": scale, "observation_std": error, "x0": 0.2, "x0_std": x0_std}
    found = lt.exact(made.times, made.values, noise="gaussian", **given)
    assert found.log_evidence == pytest.approx(expected, abs=1e-6)
    fit = lt.Model(noise="gaussian", **given).fit(made.times, made.values, paths=100)
    assert fit.summary["log_evidence"] == pytest.approx(expected, abs=5 * fit.summary["log_evidence_std_error"] + 1e-6)


def test_statistics_evidence_of_a_stable_model_by_particles():
    """Bootstrap filters of 10⁵ particles; the exact value lies within 5 standard errors of their mean: false alarm 1e-3
    with the few degrees of freedom of the error. The grid is that of the filter: one step per observation."""
    import particles
    from particles import distributions, state_space_models

    from conftest import OU_STABLE
    from scipy.stats import levy_stable

    made = lt.simulate(steps=40, span=2.0, seed=9, **OU_STABLE)
    step = made.times[1] - made.times[0]
    alpha, scale = OU_STABLE["alpha"], OU_STABLE["scale"] * step ** (1 / OU_STABLE["alpha"])
    phi, mu, error = np.exp(-OU_STABLE["theta"] * step), OU_STABLE["mu"], OU_STABLE["observation_std"]

    class Shifted(distributions.ProbDist):
        def __init__(self, loc):
            self.loc = loc

        def rvs(self, size=None):
            return self.loc + levy_stable.rvs(alpha, 0.0, scale=scale, size=size)

    class OuStable(state_space_models.StateSpaceModel):
        def PX0(self):
            return distributions.Normal(loc=0.0, scale=0.2)

        def PX(self, t, xp):
            return Shifted(mu + phi * (xp - mu))

        def PY(self, t, xp, x):
            return distributions.Normal(loc=x, scale=error)

    np.random.seed(1)
    runs = []
    for _ in range(4):
        filtered = particles.SMC(fk=state_space_models.Bootstrap(ssm=OuStable(), data=made.values), N=100_000)
        filtered.run()
        runs.append(filtered.summaries.logLts[-1])
    found = lt.exact(made.times, made.values, x0=0.0, x0_std=0.2, steps=40, **OU_STABLE).log_evidence
    deviation = np.std(runs, ddof=1) / np.sqrt(len(runs))
    assert abs(found - np.mean(runs)) < 5 * deviation + 0.01, (found, runs)


def test_golden_k_hat_of_arviz(fit):
    """ArviZ shrinks and chooses the tail alike."""
    import arviz

    for weights in [fit._run.log_weights(), RNG.standard_t(3, 500), RNG.standard_normal(2000)]:
        expected = float(arviz.psislw(weights)[1])
        assert lt.k_hat(weights) == pytest.approx(expected, abs=0.02)
    assert fit.summary["k_hat"] == pytest.approx(lt.k_hat(fit._run.log_weights()), abs=1e-12)
