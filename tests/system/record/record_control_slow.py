# needs: wherefore  timeout: 900
"""The feature probe at control depth, three times each."""
import os
import subprocess
import sys

if __name__ == "__main__":
    environment = dict(os.environ, WHEREFORE_PROBE_DEPTH="control", WHEREFORE_PROBE_ROUNDS="3")
    here = os.path.dirname(os.path.abspath(__file__))
    sys.exit(subprocess.run([sys.executable, os.path.join(here, "record_probe_test.py")], env=environment).returncode)
