// Which record of a snapshot leads to which, in numbers: there may be millions.

const FIRST = 1 << 10;

export class Edges {
  constructor() {
    this.from = new Int32Array(FIRST);
    this.to = new Int32Array(FIRST);
    this.count = 0;
  }

  add(from, to) {
    if (this.count === this.from.length) {
      this.from = grown(this.from);
      this.to = grown(this.to);
    }
    this.from[this.count] = from;
    this.to[this.count++] = to;
  }

  // Follows the edges from `starts`, or backwards. Returns of each of `size` records the start that it was reached
  // from, plus one; 0 where none leads to it.
  reached(starts, size, isBackwards) {
    const [near, far] = isBackwards ? [this.to, this.from] : [this.from, this.to];
    const { first, list } = this.sorted(near, far, size);
    const reachedFrom = new Int32Array(size);
    const waits = [];
    let end = 0;
    for (let i = 0; i < starts.length; i++) {
      if (reachedFrom[starts[i]] === 0) waits[end++] = starts[i];
      reachedFrom[starts[i]] ||= starts[i] + 1;
    }
    for (let at = 0; at < end; at++) {
      const one = waits[at];
      for (let i = first[one]; i < first[one + 1]; i++) {
        if (reachedFrom[list[i]] !== 0) continue;
        reachedFrom[list[i]] = reachedFrom[one];
        waits[end++] = list[i];
      }
    }
    return reachedFrom;
  }

  // The far ends of each record's edges, together: those of `n` are list[first[n]] to list[first[n + 1]].
  sorted(near, far, size) {
    const first = new Int32Array(size + 1);
    for (let i = 0; i < this.count; i++) first[near[i] + 1] += 1;
    for (let i = 0; i < size; i++) first[i + 1] += first[i];
    const next = first.slice();
    const list = new Int32Array(this.count);
    for (let i = 0; i < this.count; i++) list[next[near[i]]++] = far[i];
    return { first, list };
  }

  // As reached(), for one start after the other: returns a function that calls visit(record) for all to which a
  // start leads.
  walker(size) {
    const { first, list } = this.sorted(this.from, this.to, size);
    const seenIn = new Int32Array(size); // the walk
    let walks = 0;
    return (start, visit) => {
      walks += 1;
      const waits = [start];
      let end = 1;
      seenIn[start] = walks;
      for (let at = 0; at < end; at++) {
        visit(waits[at]);
        for (let i = first[waits[at]]; i < first[waits[at] + 1]; i++) {
          if (seenIn[list[i]] === walks) continue;
          seenIn[list[i]] = walks;
          waits[end++] = list[i];
        }
      }
    };
  }
}

function grown(numbers) {
  const larger = new Int32Array(2 * numbers.length);
  larger.set(numbers);
  return larger;
}
