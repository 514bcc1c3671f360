// What to do about failures that hutch's users meet in their first week: a line behind the traceback.

import fs from 'node:fs';
import util from 'node:util';
import { String } from './intrinsics.mjs';
import { read } from './errors.mjs';

// Homes on macOS, on Linux but for a session's own, and on Windows, and a home's folders that no session has.
const OF_A_MACHINE = /^(\/workspace\/)?(\/Users(\/|$)|\/home\/(?!user(\/|$))[^/]+\/|[A-Za-z]:[\\/]|\/mnt\/c\/|(~|\/home\/user)\/(Desktop|Documents|Downloads)\/)/;
const OF_A_CHAT = /^(\/mnt\/user-data|\/mnt\/data|\/mnt\/skills|\/home\/claude)(\/|$)/;
const OUTPUTS = /^(\/mnt\/user-data\/outputs|\/home\/claude)/;
const CODES = ['ENOENT', 'EACCES', 'EPERM', 'EROFS'];
const NO_FILES = '(this session sees no files of the user\'s machine: whoever runs hutch grants a folder, which is at /mnt/NAME then, with '
  + '`--mount NAME=PATH`; or the user gives the file\'s content, for write_file)\n';
const NOT_OF_THE_CHAT = '(files of the chat are not in this session: the user gives them through write_file, or in a folder that whoever '
  + 'runs hutch grants, which is at /mnt/NAME then, with `--mount NAME=PATH`)\n';

// A line that ends in a newline, or nothing.
export function wayOutOf(failure) {
  try {
    if (!util.types.isNativeError(failure) || !CODES.includes(read(failure, 'code', ''))) return '';
    return wayFor(String(read(failure, 'path', '')));
  } catch {
    return ''; // the user has taken apart what this needs
  }
}

function wayFor(path) {
  const ofChat = path.match(OF_A_CHAT);
  if (!ofChat) return OF_A_MACHINE.test(path) ? NO_FILES : '';
  if (fs.existsSync(ofChat[1])) return ''; // a granted folder may be called so
  const [outputs] = path.match(OUTPUTS) ?? [];
  return outputs ? `(this session has no ${outputs}: write below /workspace, and share_file gives the file to the user)\n` : NOT_OF_THE_CHAT;
}
