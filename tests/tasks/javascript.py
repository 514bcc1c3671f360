"""JavaScript and TypeScript."""


def a_typescript_program(computer):
    """A program with types, run at once."""
    out = computer.typescript("""
        interface Item { name: string; price: number }
        const items: Item[] = [{ name: 'tea', price: 3 }, { name: 'cake', price: 4 }];
        console.log(items.reduce((sum: number, item) => sum + item.price, 0));
    """)
    assert out == "7"


def types_checked(computer):
    """A project with the compiler's own checks."""
    computer.write("main.ts", "const n: number = 'text';\n")
    assert "TS2322" in computer.bash("tsc --noEmit --strict main.ts || true")
    computer.write("main.ts", "export const n: number = 1;\nconsole.log(n);\n")
    assert computer.bash("tsc --strict --module commonjs --target es2020 main.ts && node main.js") == "1"


def a_chart_as_svg(computer):
    """A chart of d3, written as a file."""
    out = computer.javascript("""
        import * as d3 from 'd3';
        import { parseHTML } from 'linkedom';
        import fs from 'fs';
        const { document } = parseHTML('<svg xmlns="http://www.w3.org/2000/svg"></svg>');
        const y = d3.scaleLinear([0, 10], [100, 0]);
        d3.select(document.querySelector('svg')).selectAll('rect').data([3, 7]).join('rect').attr('x', (d, i) => i * 20).attr('y', y).attr('height', (d) => 100 - y(d));
        fs.writeFileSync('chart.svg', document.toString());
        console.log(document.querySelectorAll('rect').length);
    """)
    assert out == "2"


def a_csv_grouped(computer):
    """A CSV parsed, checked and grouped."""
    computer.write("t.csv", "kind,n\na,1\nb,2\na,3\n")
    out = computer.javascript("""
        import { parse } from 'csv-parse/sync';
        import _ from 'lodash';
        import { z } from 'zod';
        import fs from 'fs';
        const rows = parse(fs.readFileSync('t.csv'), { columns: true }).map((row) => z.object({ kind: z.string(), n: z.coerce.number() }).parse(row));
        console.log(JSON.stringify(_.mapValues(_.groupBy(rows, 'kind'), (some) => _.sumBy(some, 'n'))));
    """)
    assert out == '{"a":4,"b":2}'


def a_page_scraped(computer):
    """Links of a page, by selectors."""
    assert computer.javascript("import { load } from 'cheerio';\nconsole.log(load('<ul><li><a href=/a>A</a><li><a href=/b>B</a></ul>')('a').map((i, a) => a.attribs.href).get().join())") == "/a,/b"


def a_workbook_for_the_office(computer):
    """A workbook written by node, read by Python."""
    computer.javascript("import xlsx from 'xlsx';\nconst book = xlsx.utils.book_new();\nxlsx.utils.book_append_sheet(book, xlsx.utils.json_to_sheet([{ a: 1 }, { a: 2 }]), 's');\nxlsx.writeFile(book, 'n.xlsx');")
    assert computer.python("import pandas as pd; print(pd.read_excel('n.xlsx')['a'].sum())") == "3"
