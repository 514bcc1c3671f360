# All CPUs, until the time is up; listens to the interrupt.
import os

for _ in range(3):
    if os.fork() == 0:
        break
while True:
    pass
