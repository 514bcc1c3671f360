"""Charts and pictures: each comes back as a picture, and a chart as data too."""


def four_plots_in_one(computer):
    """Line, bar, histogram and box of matplotlib in one figure."""
    output = computer.output("""
        import matplotlib.pyplot as plt
        figure, axes = plt.subplots(2, 2)
        axes[0, 0].plot([1, 2, 3]); axes[0, 1].bar(["a", "b"], [1, 2]); axes[1, 0].hist([1, 2, 2, 3]); axes[1, 1].boxplot([1, 2, 3, 9])
        plt.show()
    """)
    assert output["image_path"] and [c["type"] for c in output["chart"]["elements"][0]["charts"]] == ["line", "bar", "histogram", "box"]


def seaborn_heatmap(computer):
    """The correlations of a table."""
    output = computer.output("""
        import pandas as pd, seaborn as sns
        sns.heatmap(pd.DataFrame({"a": [1, 2, 3], "b": [3, 2, 1]}).corr(), annot=True);
    """)
    assert output["chart"]["type"] == "heatmap" and output["chart"]["elements"][0]["values"] == [[1, -1], [-1, 1]]


def seaborn_by_groups(computer):
    """A grid of scatter plots by group."""
    assert computer.images("""
        import pandas as pd, seaborn as sns
        sns.relplot(pd.DataFrame({"x": range(8), "y": range(8), "g": list("abababab")}), x="x", y="y", col="g");
    """) == 1


def plotly_express(computer):
    """A chart of plotly: picture, data and a page to look at."""
    output = computer.output("""
        import plotly.express as px
        px.bar(x=["a", "b"], y=[1, 3], title="Sales")
    """)
    assert output["image_path"] and "html" in output["formats"] and output["chart"]["elements"] == [{"label": "a", "value": 1}, {"label": "b", "value": 3}]


def altair_layers(computer):
    """A chart of altair as a picture and as data."""
    output = computer.output("""
        import altair as alt, pandas as pd
        alt.Chart(pd.DataFrame({"x": [1, 2, 3], "y": [3, 1, 2]})).mark_line().encode(x="x", y="y")
    """)
    assert output["image_path"] and output["chart"]["type"] == "line"


def a_map_of_numbers(computer):
    """A surface as contours."""
    assert computer.images("""
        import matplotlib.pyplot as plt, numpy as np
        x, y = np.meshgrid(*[np.linspace(-3, 3, 100)] * 2)
        plt.contourf(x, y, np.exp(-x**2 - y**2)); plt.colorbar(); plt.show()
    """) == 1


def thumbnails(computer):
    """A photograph made small, grey and turned."""
    out = computer.python("""
        from PIL import Image, ImageOps
        Image.radial_gradient("L").convert("RGB").resize((640, 480)).save("photo.jpg")
        small = ImageOps.grayscale(Image.open("photo.jpg").rotate(90, expand=True)); small.thumbnail((100, 100)); small.save("small.png")
        print(small.size, small.mode)
    """)
    assert out == "(75, 100) L"


def shapes_found(computer):
    """How many circles are in the picture?"""
    out = computer.python("""
        import cv2, numpy as np
        picture = np.zeros((200, 300), np.uint8)
        for x in (50, 150, 250): cv2.circle(picture, (x, 100), 30, 255, -1)
        contours, _ = cv2.findContours(picture, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        print(len(contours), round(cv2.contourArea(contours[0]) / 3.14159 ** 1) > 800)
    """)
    assert out == "3 True"


def edges_by_scikit_image(computer):
    """Objects of a picture, labelled and measured."""
    out = computer.python("""
        import numpy as np
        from skimage import measure, filters
        picture = np.zeros((60, 60)); picture[10:20, 10:20] = 1; picture[30:50, 30:50] = 1
        print(sorted(int(r.area) for r in measure.regionprops(measure.label(picture > filters.threshold_otsu(picture)))))
    """)
    assert out == "[100, 400]"


def an_animation(computer):
    """A GIF of ten frames."""
    assert computer.python("import imageio.v3 as iio, numpy as np\niio.imwrite('a.gif', [np.full((9, 9), 25 * i, 'u1') for i in range(10)])\nprint(iio.imread('a.gif').shape[0])") == "10"
