"""Programs: packages, compilers, servers, other languages."""


def a_package_with_tests(computer):
    """A small package, a failing test, the mending, a passing one."""
    computer.write("calc/__init__.py", "def mean(values):\n    return sum(values) / len(values) + 1\n")
    computer.write("test_calc.py", "from calc import mean\n\ndef test_mean():\n    assert mean([1, 3]) == 2\n")
    assert "1 failed" in computer.bash("python -m pytest -q test_calc.py || true")
    computer.edit("calc/__init__.py", " + 1", "")
    assert "1 passed" in computer.bash("pytest -q test_calc.py")


def a_program_of_c(computer):
    """A program of C, compiled and run."""
    computer.write("sum.c", '#include <stdio.h>\nint main(void) { long s = 0; for (int i = 1; i <= 100; ++i) s += i; printf("%ld\\n", s); }\n')
    assert computer.bash("gcc -O2 -Wall -o sum sum.c && ./sum") == "5050"


def a_program_of_cpp_with_make(computer):
    """A C++ program of two files, built by make."""
    computer.write("f.cc", "int f(int x) { return x * x; }\n")
    computer.write("main.cc", "#include <iostream>\nint f(int);\nint main() { std::cout << f(12) << std::endl; }\n")
    computer.write("Makefile", "main: main.o f.o\n\tg++ -o main main.o f.o\n")
    assert computer.bash("make -s && ./main") == "144"


def a_web_server(computer):
    """A server in the background, asked by a client."""
    computer.write("serve.py", "from http.server import *\nclass H(BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(200); self.end_headers(); self.wfile.write(b'hello ' + self.path.encode())\nHTTPServer(('127.0.0.1', 8765), H).serve_forever()\n")
    computer.background("exec python3 serve.py")
    assert computer.python("""
        import time, httpx
        for attempt in range(100):
            try: print(httpx.get("http://127.0.0.1:8765/x").text); break
            except httpx.ConnectError: time.sleep(0.1)
    """) == "hello /x"


def many_requests_at_once(computer):
    """A server and a client of asyncio in one cell."""
    assert computer.python("""
        import asyncio, aiohttp
        from aiohttp import web
        app = web.Application(); app.router.add_get("/{n}", lambda r: web.json_response(int(r.match_info["n"]) ** 2))
        runner = web.AppRunner(app); await runner.setup(); await web.TCPSite(runner, "127.0.0.1", 8766).start()
        async with aiohttp.ClientSession() as session:
            async def ask(n):
                async with session.get(f"http://127.0.0.1:8766/{n}") as answer: return await answer.json()
            print(sum(await asyncio.gather(*map(ask, range(20)))))
        await runner.cleanup()
    """) == "2470"


def a_repository(computer):
    """A repository with two commits, a branch and a difference."""
    out = computer.bash("git init -q r && cd r && echo one >f && git add f && git commit -qm one && git checkout -qb new && echo two >>f && git commit -qam two && git log --oneline | wc -l && git diff main --stat | tail -n1")
    assert out.splitlines() == ["2", " 1 file changed, 1 insertion(+)"]


def archives(computer):
    """A folder zipped, listed and unpacked elsewhere."""
    computer.write("d/a.txt", "a"); computer.write("d/b/c.txt", "c")
    assert computer.python("import shutil, zipfile\nshutil.make_archive('d', 'zip', 'd')\nprint(sorted(zipfile.ZipFile('d.zip').namelist()))\nshutil.unpack_archive('d.zip', 'e')\nprint(open('e/b/c.txt').read())").endswith("c")


def processes_in_parallel(computer):
    """Work spread over processes."""
    computer.write("work.py", "def f(n):\n    return sum(range(n))\n")
    assert computer.python("from concurrent.futures import ProcessPoolExecutor\nfrom work import f\nwith ProcessPoolExecutor(2) as pool: print(sum(pool.map(f, [10, 100, 1000])))") == "504495"


def checked_data(computer):
    """Input checked against a model, its errors named."""
    out = computer.python("""
        from pydantic import BaseModel, ValidationError
        class User(BaseModel):
            name: str
            age: int
        try: User(name="a", age="old")
        except ValidationError as error: print(error.error_count(), error.errors()[0]["loc"])
    """)
    assert out == "1 ('age',)"


def a_notebook_of_magics(computer):
    """Run what people paste from notebooks."""
    assert computer.python("x = !echo hi\nprint(x[0])\n%timeit -n1 -r1 1 + 1").startswith("hi")
