# neon-mca.sh and neon-permute-mca.sh source these functions. The current directory must be bench.

cpus="neoverse-n1 neoverse-v1 neoverse-v2 apple-m1"
turns=1000
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# ours.o has the assembled kernels as an object file that LLVM reads.
GOARCH=arm64 go tool asm -p bfi -I "$(go env GOROOT)/pkg/include" -o "$tmp/go.o" ../bfi_arm64.s
go tool objdump "$tmp/go.o" | awk '
	/^TEXT/ { name = $2; sub(/\(SB\)/, "", name); sub(/.*\./, "", name); printf ".type %s, %%function\n%s:\n", name, name }
	length($3) == 8 && $2 ~ /^0x/ { print ".inst 0x" $3 }' |
	clang-19 --target=aarch64-linux-gnu -x assembler -c -o "$tmp/ours.o" -

# compile CPU compiles C from standard input to CPU.o.
compile() {
	# Our kernels use NEON. So that clang's code does too, processors with SVE must not use SVE.
	local flags=-mcpu=$1
	case $1 in neoverse-v*) flags+=+nosve ;; esac
	clang-19 --target=aarch64-linux-gnu -ffreestanding -O3 "$flags" -I. -x c -c -o "$tmp/$1.o" -
}

# loop FILE SYMBOL LENGTH [SOURCES LOADS PAIRS] prints the innermost loop of a function that stores most in one turn. The first
# line is the number of bytes that it stores. If several loops store as much, LENGTH is longest or shortest and says which
# one to print. Some loops are shorter than others: clang's loops for empty fields, and our loops for unsigned fields.
# With SOURCES, only loops count that look up bytes in that many vectors, with LOADS single loads and PAIRS paired stores.
loop() {
	llvm-objdump-19 -d --no-show-raw-insn --no-print-imm-hex --disassemble-symbols="$2" "$1" | awk -v which=$3 -v sources=${4:-0} -v wantLoads=${5:-0} -v wantPairs=${6:-0} '
		/^ *[0-9a-f]+:/ {
			address = $1; sub(/:/, "", address)
			text = $0; sub(/^ *[0-9a-f]+:[ \t]*/, "", text); sub(/ *\/\/.*/, "", text); sub(/ *<.*>/, "", text)
			at[address] = ++n; line[n] = text
		}
		END {
			for (i = 1; i <= n; i++) {
				if (line[i] !~ /^(b|b\.[a-z]+|cbn?z|tbn?z)[ \t]/) continue
				match(line[i], /0x[0-9a-f]+/)
				start = at[substr(line[i], RSTART + 2, RLENGTH - 2)]
				inner = start > previous; previous = i
				if (start == 0 || start > i || !inner) continue
				bytes = loads = pairs = 0
				for (j = start; j < i; j++) {
					if (line[j] ~ /^ldr[ \t]+q/) loads++
					if (line[j] ~ /^stp[ \t]+q/) pairs++
					if (line[j] !~ /^(strb?|strh|stp|sturb?|sturh|st[1-4])[ \t]/) continue
					split(line[j], part, /[ \t,]+/)
					c = substr(part[2], 1, 1)
					size = c == "q" ? 16 : c ~ /[dx]/ ? 8 : 4
					if (part[1] == "stp") size *= 2
					if (part[1] ~ /b$/) size = 1
					if (part[1] ~ /h$/) size = 2
					if (part[1] ~ /^st[1-4]$/) {
						list = line[j]; registers = gsub(/v[0-9]+\./, "", list)
						lane = line[j] ~ /\][ ,].*\[/
						match(line[j], /\.[0-9]*[bhsd]/); arrangement = substr(line[j], RSTART + 1, RLENGTH - 1)
						element = arrangement ~ /b/ ? 1 : arrangement ~ /h/ ? 2 : arrangement ~ /s/ ? 4 : 8
						size = registers * (lane ? element : arrangement == "8b" || arrangement == "4h" || arrangement == "2s" ? 8 : 16)
					}
					bytes += size
				}
				if (sources && (bytes != 64 || loads != wantLoads || pairs != wantPairs)) continue
				if (sources) {
					same = 1
					for (j = start; j < i; j++) if (line[j] ~ /^tbl/) { t = line[j]; same = same && gsub(/v[0-9]+\./, "", t) == sources + 2 }
					if (!same) continue
				}
				longer = which == "longest" ? i - start > to - from : i - start < to - from
				if (bytes > best || bytes == best && longer) { best = bytes; from = start; to = i }
			}
			if (!best) exit 1
			print best
			print "loop:"
			for (i = from; i < to; i++) print line[i]
			branch = line[to]; sub(/0x.*/, "loop", branch); print branch
		}'
}

# cycles CPU FILE SYMBOL LENGTH BYTES [SOURCES LOADS PAIRS] prints the cycles that 16 lanes of BYTES bytes take in the loop.
cycles() {
	local bytes total
	loop "$2" "$3" $4 ${6-} ${7-} ${8-} > "$tmp/loop" || { echo "no loop in $3" >&2; return 1; }
	bytes=$(head -1 "$tmp/loop")
	total=$(tail -n +2 "$tmp/loop" | llvm-mca-19 -mtriple=aarch64-linux-gnu -mcpu="$1" -iterations=$turns |
		awk '/^Total Cycles:/ { print $3 }')
	awk -v total="$total" -v turns=$turns -v lanes=$((bytes / $5)) 'BEGIN { printf "%.2f", total / turns * 16 / lanes }'
}

# versions prints the versions of clang and llvm-mca.
versions() {
	clang-19 --version | sed -n '1s/.*version \([0-9.]*\).*/clang \1 and /p' | tr -d '\n'
	llvm-mca-19 --version | sed -n 's/.*LLVM version \([0-9.]*\).*/llvm-mca \1/p' | tr -d '\n'
}

# heading NAME prints the head of a table with a column for each processor.
heading() {
	local cpu
	printf '| %s |' "$1"
	for cpu in $cpus; do printf ' %s |' $cpu; done
	printf '\n| --- |'
	for cpu in $cpus; do printf ' ---: |'; done
	echo
}
