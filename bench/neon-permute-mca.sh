#!/bin/bash
# Prints a table in Markdown: the main loops of NEON's permute kernel, as llvm-mca models them, next to what clang makes
# of the loops in neon-permute.h.
#
#	bench/neon-permute-mca.sh > bench/neon-permute-mca.md
#
# It needs Go and Debian's clang-19 and llvm-19.
set -euo pipefail
cd "$(dirname "$0")"

cpus="neoverse-n1 neoverse-v1 neoverse-v2 apple-m1"
turns=1000
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

GOARCH=arm64 go tool asm -p bfi -I "$(go env GOROOT)/pkg/include" -o "$tmp/go.o" ../bfi_arm64.s
go tool objdump -s permuteNEON "$tmp/go.o" | awk '
	/^TEXT/ { print ".type permuteNEON, %function\npermuteNEON:" }
	length($3) == 8 && $2 ~ /^0x/ { print ".inst 0x" $3 }' |
	clang-19 --target=aarch64-linux-gnu -x assembler -c -o "$tmp/ours.o" -
for cpu in $cpus; do
	flags=-mcpu=$cpu
	case $cpu in neoverse-v*) flags+=+nosve ;; esac # NEON is compared with NEON
	clang-19 --target=aarch64-linux-gnu -ffreestanding -O3 $flags -x c -c -o "$tmp/$cpu.o" neon-permute.h
done

# loop FILE SYMBOL SOURCES VECTORS prints the function's innermost loop that stores most in one turn, after the number of
# bytes that it stores. If SOURCES is not 0, only loops count that look VECTORS results up in so many vectors for each
# turn of loads.
loop() {
	llvm-objdump-19 -d --no-show-raw-insn --no-print-imm-hex --disassemble-symbols="$2" "$1" | awk -v sources=$3 -v vectors=$4 '
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
				bytes = loads = 0
				for (j = start; j < i; j++) {
					if (line[j] ~ /^ldr[ \t]+q/) loads++
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
				if (sources && (bytes != 64 || loads != sources * 4 / vectors)) continue
				if (sources) {
					same = 1
					for (j = start; j < i; j++) if (line[j] ~ /^tbl/) { t = line[j]; same = same && gsub(/v[0-9]+\./, "", t) == sources + 2 }
					if (!same) continue
				}
				if (bytes > best) { best = bytes; from = start; to = i }
			}
			if (!best) exit 1
			print best
			print "loop:"
			for (i = from; i < to; i++) print line[i]
			branch = line[to]; sub(/0x.*/, "loop", branch); print branch
		}'
}

# cycles CPU GROUPS reads a loop and prints the cycles that 16 groups take.
cycles() {
	llvm-mca-19 -mtriple=aarch64-linux-gnu -mcpu="$1" -iterations=$turns "$tmp/loop" |
		awk -v turns=$turns -v groups="$2" '/^Total Cycles:/ { printf "%.2f", $3 / turns * 16 / groups }'
}

cat <<END
# NEON's permute kernel, modelled

The table has cycles per 16 pixels, samples or words, ours / clang's. Ours are llvm-mca's figures for the loop of
permuteNEON that the job goes by. Clang's are its figures for what clang -O3 makes of the plain loops in
neon-permute.h for that processor, with NEON. llvm-mca models the processors, with all operands in the first-level
cache. Nothing was measured. The figures leave out the tables that Go makes for each call.

Made by bench/neon-permute-mca.sh, with $(clang-19 --version | sed -n '1s/.*version \([0-9.]*\).*/clang \1/p') and $(llvm-mca-19 --version | sed -n 's/.*LLVM version \([0-9.]*\).*/llvm-mca \1/p').

END
printf '| job |'; for cpu in $cpus; do printf ' %s |' $cpu; done
printf '\n| --- |'; for cpu in $cpus; do printf ' ---: |'; done
echo
# Name, C function, bytes of a group of dst; of our loop the sources, the vectors of a step, the groups of a turn.
while IFS=: read -r name symbol bytes sources vectors groups; do
	printf '| %s |' "$name"
	for cpu in $cpus; do
		loop "$tmp/ours.o" permuteNEON $sources $vectors > "$tmp/all" || { echo "no loop for $name" >&2; exit 1; }
		tail -n +2 "$tmp/all" > "$tmp/loop"
		ours=$(cycles $cpu $groups)
		loop "$tmp/$cpu.o" $symbol 0 0 > "$tmp/all" || { echo "no loop in $symbol" >&2; exit 1; }
		stored=$(head -1 "$tmp/all")
		tail -n +2 "$tmp/all" > "$tmp/loop"
		printf ' %s / %s |' $ours $(cycles $cpu $((stored / bytes)))
	done
	echo
done <<END
RGB24 to RGBA:rgbToRGBA:4:2:1:16
RGBA to RGB24:rgbaToRGB:3:1:1:16
BGRA to RGBA, in place:swapRedBlue:4:1:1:16
24-bit samples to 32 bits:samples24:4:1:1:16
big-endian 64-bit words:swap64:8:1:1:8
stereo apart, 16 bits, one side:stereoLeft:2:2:1:32
four planes to 32-bit words:planesToWords:4:4:4:16
END
