// Puts back all that a snapshot has: in the node that begins with it, and where it is tried (read_back.mjs).

import { StoredGraph } from './snapshot_reading.mjs';

export const ALL_BACK = 42; // the status of who has tried it

// { back, notKept, missing, unread }: how many global names are there again; by its label why another one is not; what
// else is not as it was, in words; and graphs of what could not be read.
export async function putBack(session, surroundings, { content, index }) {
  const missing = surroundings.putBack(index.around); // first: it says where modules are found
  const notKept = index.notKept;
  const unread = [];
  let back = 0;
  for (const place of index.graphs) {
    const graph = new StoredGraph(session, content, place);
    const result = await graph.restore();
    back += result.back.filter(({ isGlobal, label }) => isGlobal && label !== '_').length;
    for (const { label, why } of result.failed) notKept[label] = ['', why];
    const kept = graph.kept(result.failed);
    if (kept) unread.push(kept);
  }
  return { back, notKept, missing, unread };
}
