#!/usr/bin/env bash
# python inside the Apptainer image $EDUARDO_IMAGE, for scripts that start "$EDUARDO_PYTHON":
#   export EDUARDO_IMAGE=$PWD/eduardo.sif EDUARDO_PYTHON=$PWD/scripts/container_python.sh
#   sbatch scripts/serve.sbatch student
set -euo pipefail
exec apptainer exec --nv "${EDUARDO_IMAGE:?name the image file}" python "$@"
