"""Knows how an index of packages calls a module that is imported by another name."""

_OTHER = {
    "Bio": "biopython", "Crypto": "pycryptodome", "Levenshtein": "levenshtein", "MySQLdb": "mysqlclient", "OpenSSL": "pyopenssl", "PIL": "pillow",
    "attr": "attrs", "barcode": "python-barcode", "bs4": "beautifulsoup4", "cairo": "pycairo", "camelot": "camelot-py", "community": "python-louvain",
    "cv2": "opencv-python-headless", "dateutil": "python-dateutil", "discord": "discord.py", "docx": "python-docx", "dotenv": "python-dotenv",
    "faiss": "faiss-cpu", "ffmpeg": "ffmpeg-python", "fitz": "pymupdf", "fpdf": "fpdf2", "git": "gitpython", "github": "pygithub",
    "googleapiclient": "google-api-python-client", "imblearn": "imbalanced-learn", "jose": "python-jose", "jwt": "pyjwt", "kafka": "kafka-python",
    "ldap": "python-ldap", "magic": "python-magic", "msoffcrypto": "msoffcrypto-tool", "mysql": "mysql-connector-python", "nacl": "pynacl",
    "odf": "odfpy", "pkg_resources": "setuptools", "pptx": "python-pptx", "psycopg2": "psycopg2-binary", "serial": "pyserial", "shapefile": "pyshp",
    "skimage": "scikit-image", "sklearn": "scikit-learn", "slugify": "python-slugify", "speech_recognition": "SpeechRecognition",
    "tabula": "tabula-py", "telegram": "python-telegram-bot", "umap": "umap-learn", "usb": "pyusb", "wx": "wxpython", "yaml": "pyyaml",
    "z3": "z3-solver", "zmq": "pyzmq",
}


_OF_GOOGLE = {"api_core": "google-api-core", "auth": "google-auth", "genai": "google-genai", "generativeai": "google-generativeai",
              "oauth2": "google-auth", "protobuf": "protobuf"}


_DRAWS_PAGES = "pypdfium2", "draws pages: pypdfium2.PdfDocument(path)[0].render(scale=2).to_pil()"
_READS_TABLES = "pdfplumber", "reads tables: pdfplumber.open(path).pages[0].extract_tables()"
_ANSWERS = "duckdb", 'answers run_code with language: "sql", and hutch.sql("SELECT ...") in Python'
_IN_PLACE = {"sql": _ANSWERS, "fitz": _DRAWS_PAGES, "pymupdf": _DRAWS_PAGES, "pdf2image": _DRAWS_PAGES, "camelot": _READS_TABLES, "tabula": _READS_TABLES,
             "PyPDF2": ("pypdf", "has the same: from pypdf import PdfReader"), "PyPDF4": ("pypdf", "has the same: from pypdf import PdfReader")}


def words_in_place_of(module):
    """Names a module that does the same and is here, or nothing."""
    other, words = _IN_PLACE.get(module.partition(".")[0], ("", ""))
    if not other:
        return ""
    from importlib.util import find_spec

    return f"{other} is here and {words}" if find_spec(other) else ""


def index_name_of(module):
    """The package that `module`, a name with dots or without, comes with, as far as that is known to be another name; else ""."""
    top, _, below = module.partition(".")
    if top != "google":
        return _OTHER.get(top, "")
    part, _, rest = below.partition(".")
    if part == "cloud" and rest:
        return "google-cloud-" + rest.partition(".")[0].replace("_", "-")
    return _OF_GOOGLE.get(part, "")
