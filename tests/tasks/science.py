"""Numbers: statistics, time series, optimisation, symbols."""


def a_regression_with_its_table(computer):
    """Find what explains y, with confidence intervals."""
    out = computer.python("""
        import numpy as np, pandas as pd, statsmodels.formula.api as smf
        rng = np.random.default_rng(1)
        data = pd.DataFrame({"x": rng.normal(size=200), "g": rng.choice(["a", "b"], 200)})
        data["y"] = 2 * data["x"] + (data["g"] == "b") + rng.normal(scale=0.1, size=200)
        fit = smf.ols("y ~ x + g", data).fit()
        print(fit.params.round(1).to_dict(), fit.rsquared > 0.99, "R-squared" in fit.summary().as_text())
    """)
    assert out == "{'Intercept': 0.0, 'g[T.b]': 1.0, 'x': 2.0} True True"


def a_test_of_two_groups(computer):
    """Do two groups differ?"""
    out = computer.python("""
        import numpy as np
        from scipy import stats
        rng = np.random.default_rng(1)
        print(stats.ttest_ind(rng.normal(0, 1, 100), rng.normal(1, 1, 100)).pvalue < 0.001, stats.chi2_contingency([[10, 20], [30, 5]]).pvalue < 0.001)
    """)
    assert out == "True True"


def a_forecast(computer):
    """Twelve months more of a series with a season."""
    out = computer.python("""
        import numpy as np, pandas as pd
        from statsmodels.tsa.holtwinters import ExponentialSmoothing
        months = pd.date_range("2018-01-01", periods=60, freq="MS")
        series = pd.Series(100 + np.arange(60) + 10 * np.sin(2 * np.pi * np.arange(60) / 12), months)
        forecast = ExponentialSmoothing(series, trend="add", seasonal="add", seasonal_periods=12).fit().forecast(12)
        expected = 100 + np.arange(60, 72) + 10 * np.sin(2 * np.pi * np.arange(60, 72) / 12)
        print(len(forecast), bool(abs(forecast - expected).max() < 2))
    """)
    assert out == "12 True"


def a_series_decomposed_and_resampled(computer):
    """Weekly means, and the trend without the season."""
    out = computer.python("""
        import numpy as np, pandas as pd
        from statsmodels.tsa.seasonal import seasonal_decompose
        days = pd.Series(np.arange(364) + np.tile([0, 0, 0, 0, 0, 9, 9], 52), pd.date_range("2024-01-01", periods=364))
        print(len(days.resample("W").mean()), round(seasonal_decompose(days, period=7).seasonal.max(), 1))
    """)
    assert out == "52 6.4"


def a_curve_fitted(computer):
    """The decay constant of a measurement."""
    out = computer.python("""
        import numpy as np
        from scipy.optimize import curve_fit
        t = np.linspace(0, 5, 50)
        (a, k), _ = curve_fit(lambda t, a, k: a * np.exp(-k * t), t, 3 * np.exp(-0.7 * t))
        print(round(a, 3), round(k, 3))
    """)
    assert out == "3.0 0.7"


def a_linear_programme(computer):
    """The best mix under constraints."""
    out = computer.python("from scipy.optimize import linprog\nr = linprog([-3, -5], A_ub=[[1, 0], [0, 2], [3, 2]], b_ub=[4, 12, 18])\nprint(round(-r.fun), r.x.round().astype(int).tolist())")
    assert out == "36 [2, 6]"


def symbols(computer):
    """An integral, an equation and a limit, exactly."""
    out = computer.python("from sympy import *\nx = symbols('x')\nprint(integrate(x * exp(-x), (x, 0, oo)), solve(x**2 - 2, x), limit(sin(x) / x, x, 0))")
    assert out == "1 [-sqrt(2), sqrt(2)] 1"


def a_graph_of_friends(computer):
    """Who is central, and the shortest way."""
    out = computer.python("import networkx as nx\ng = nx.Graph([('a', 'b'), ('b', 'c'), ('c', 'd'), ('b', 'd')])\nprint(max(nx.betweenness_centrality(g).items(), key=lambda p: p[1])[0], nx.shortest_path(g, 'a', 'd'))")
    assert out == "b ['a', 'b', 'd']"


def a_simulation(computer):
    """Pi by a million throws, reproducible."""
    assert computer.python("import numpy as np\np = np.random.default_rng(0).random((1_000_000, 2))\nprint(round(4 * ((p ** 2).sum(axis=1) < 1).mean(), 1))") == "3.1"


def labelled_arrays(computer):
    """A grid of temperatures by place and time, its mean over time."""
    assert computer.python("import numpy as np, xarray as xr\na = xr.DataArray(np.arange(6.).reshape(2, 3), dims=('time', 'place'), coords={'place': list('xyz')})\nprint(a.mean('time').sel(place='y').item())") == "2.5"
