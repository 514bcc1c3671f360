// What to do about failures that hutch's users meet in their first week: a line behind the traceback.

import util from 'node:util';
import { String } from './intrinsics.mjs';
import { read } from './errors.mjs';

// Homes on macOS, on Linux but for a session's own, and on Windows, and a home's folders that no session has.
const OF_A_MACHINE = /^(\/workspace\/)?(\/Users\/|\/home\/(?!user\/)[^/]+\/|[A-Za-z]:[\\/]|\/mnt\/c\/|(~|\/home\/user)\/(Desktop|Documents|Downloads)\/)/;
const NO_FILES = '(this session sees no files of the user\'s machine: whoever runs hutch grants a folder, which is at /mnt/NAME then, with '
  + '`--mount NAME=PATH`; or the user gives the file\'s content, for write_file)\n';

// A line that ends in a newline, or nothing.
export function wayOutOf(failure) {
  try {
    if (!util.types.isNativeError(failure) || read(failure, 'code', '') !== 'ENOENT') return '';
    return OF_A_MACHINE.test(String(read(failure, 'path', ''))) ? NO_FILES : '';
  } catch {
    return ''; // the user has taken apart what this needs
  }
}
