#!/bin/sh
# The environment's browser: headless always, with the libraries and the software renderer that it came with. A session's
# own walls are around it, and inside of those it cannot build a second one: --no-sandbox. Its zygote would need one.
LD_LIBRARY_PATH=/environment/browser/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
  exec /environment/browser/chromium --no-sandbox --no-zygote --disable-dev-shm-usage --no-first-run \
  --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --ignore-gpu-blocklist "$@"
