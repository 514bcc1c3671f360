"""Machine learning on small data."""


def a_classifier_with_its_report(computer):
    """A model, cross-validated, with precision and recall."""
    out = computer.python("""
        from sklearn.datasets import load_iris
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.metrics import classification_report
        from sklearn.model_selection import cross_val_score, train_test_split
        X, y = load_iris(return_X_y=True)
        model = RandomForestClassifier(random_state=0)
        print(cross_val_score(model, X, y, cv=5).mean() > 0.9)
        a, b, c, d = train_test_split(X, y, random_state=0)
        print("precision" in classification_report(d, model.fit(a, c).predict(b)))
    """)
    assert out == "True\nTrue"


def a_pipeline_over_mixed_columns(computer):
    """Numbers scaled, words encoded, gaps filled, in one pipeline that is saved and loaded."""
    out = computer.python("""
        import joblib, numpy as np, pandas as pd
        from sklearn.compose import make_column_transformer
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler
        data = pd.DataFrame({"age": [20, 30, np.nan, 50] * 10, "job": ["a", "b", "a", "b"] * 10})
        model = make_pipeline(make_column_transformer((make_pipeline(SimpleImputer(), StandardScaler()), ["age"]), (OneHotEncoder(), ["job"])), LogisticRegression())
        joblib.dump(model.fit(data, [0, 1, 0, 1] * 10), "model.joblib")
        print(joblib.load("model.joblib").score(data, [0, 1, 0, 1] * 10))
    """)
    assert out == "1.0"


def clusters(computer):
    """How many groups are there?"""
    out = computer.python("""
        from sklearn.cluster import KMeans
        from sklearn.datasets import make_blobs
        from sklearn.metrics import silhouette_score
        X, _ = make_blobs(300, centers=4, cluster_std=0.5, random_state=0)
        print(max(range(2, 7), key=lambda k: silhouette_score(X, KMeans(k, n_init=5, random_state=0).fit_predict(X))))
    """)
    assert out == "4"


def fewer_dimensions(computer):
    """Two components, and how much they explain, as a picture."""
    assert computer.images("""
        import matplotlib.pyplot as plt
        from sklearn.datasets import load_digits
        from sklearn.decomposition import PCA
        X, y = load_digits(return_X_y=True)
        points = PCA(2).fit_transform(X)
        plt.scatter(*points.T, c=y, s=5); plt.show()
    """) == 1


def words_counted(computer):
    """Which topic is a text about?"""
    out = computer.python("""
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.naive_bayes import MultinomialNB
        texts, kinds = ["goal match team", "vote party law", "team win goal", "law court vote"], ["sport", "politics"] * 2
        vectors = TfidfVectorizer()
        print(MultinomialNB().fit(vectors.fit_transform(texts), kinds).predict(vectors.transform(["the team scored a goal"]))[0])
    """)
    assert out == "sport"
