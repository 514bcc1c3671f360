import requests

BASE = "https://api.sandbase.ai"
HEADERS = {"Authorization": "Bearer sk-sb-YOUR_KEY"}

# 1. Create a sandbox (boots in ~60ms)
sandbox = requests.post(f"{BASE}/sandboxes", headers=HEADERS, json={
    "templateID": "code_interpreter",
    "timeout": 300
}).json()

sandbox_id = sandbox["sandboxID"]

# 2. Execute code
result = requests.post(f"{BASE}/sandboxes/{sandbox_id}/processes", headers=HEADERS, json={
    "cmd": "python3",
    "args": ["-c", "import pandas as pd; print(pd.__version__)"]
}).json()

print(result["stdout"])  # "2.1.4"

# 3. Upload a file
requests.post(f"{BASE}/sandboxes/{sandbox_id}/files", headers=HEADERS,
    files={"file": ("data.csv", open("data.csv", "rb"))},
    data={"path": "/workspace/data.csv"}
)

# 4. Process the file
result = requests.post(f"{BASE}/sandboxes/{sandbox_id}/processes", headers=HEADERS, json={
    "cmd": "python3",
    "args": ["-c", """
import pandas as pd
df = pd.read_csv('/workspace/data.csv')
print(f"Rows: {len(df)}, Columns: {list(df.columns)}")
print(df.describe().to_string())
"""]
}).json()

print(result["stdout"])
