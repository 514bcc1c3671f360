// Says what to do about failures that hutch's users meet in their first week: a line behind the traceback.

import fs from 'node:fs';
import util from 'node:util';
import { read } from './errors.mjs';
import { wordsFor, wordsForReadOnly } from './near_files.mjs';

// Homes on macOS, on Linux but for a session's own, and on Windows, and a home's folders that no session has.
const OF_A_MACHINE = /^(\/workspace\/)?(\/Users(\/|$)|\/home\/(?!user(\/|$))[^/]+\/|[A-Za-z]:[\\/]|\/mnt\/c\/|(~|\/home\/user)\/(Desktop|Documents|Downloads)\/)/;
const OF_A_CHAT = /^(\/mnt\/user-data|\/mnt\/data|\/mnt\/skills|\/home\/claude)(\/|$)/;
const OUTPUTS = /^(\/mnt\/user-data\/outputs|\/home\/claude)/;
const CODES = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EROFS'];
const REFUSED = ['EACCES', 'EPERM', 'EROFS'];
const NO_FILES = '(this session sees no files of the user\'s machine: whoever runs hutch grants a folder, which is at /mnt/NAME then, with '
  + '`--mount NAME=PATH`; or the user gives the file\'s content, for write_file)\n';
const NOT_OF_THE_CHAT = '(files of the chat are not in this session: the user gives them through write_file, or in a folder that whoever '
  + 'runs hutch grants, which is at /mnt/NAME then, with `--mount NAME=PATH`)\n';

// A line that ends in a newline, or nothing.
export function wayOutOf(failure) {
  try {
    const code = read(failure, 'code', '');
    if (!util.types.isNativeError(failure) || !CODES.includes(code) || read(failure, 'syscall', '').startsWith('spawn')) return '';
    const [path, destination] = [read(failure, 'path', ''), read(failure, 'dest', '')];
    const refused = REFUSED.includes(code) ? wordsForReadOnly(path) || wordsForReadOnly(destination) : '';
    return refused ? `(${refused})\n` : wayFor(path);
  } catch {
    return ''; // the user has taken apart what this needs
  }
}

function wayFor(path) {
  const near = wordsFor(path);
  const ofChat = path.match(OF_A_CHAT);
  const isOfChat = ofChat && !fs.existsSync(ofChat[1]); // a granted folder may be called so
  const [outputs] = (isOfChat && path.match(OUTPUTS)) || [];
  if (outputs) {
    return `(this session has no ${outputs}: write below /workspace, and share_file gives the file to the user${near && `; ${near}`})\n`;
  }
  if (near) return `(${near})\n`;
  if (isOfChat) return NOT_OF_THE_CHAT;
  return OF_A_MACHINE.test(path) ? NO_FILES : '';
}
