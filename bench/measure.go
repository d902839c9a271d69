package main

import (
	"math"
	"slices"
	"time"

	"github.com/gobfi/bfi/internal/tune"
)

// A contender is one way to do a job. The limit is a contender too: it only moves the job's
// operands.
type contender struct {
	kind       string
	kernel     string  // the library's kernel; empty if the contender is not the library
	streamFrom uintptr // calls that move at least this many bytes bypass the cache
	run        func(n int)
}

// These are the kinds of contenders. Another kind is the calls that a job replaces.
const (
	library      = "bfi"
	cachedStores = "cached stores"
	goLoop       = "Go loop"
	cLoop        = "C loop"
	archsimdLoop = "archsimd"
	libyuv       = "libyuv"
	byHand       = "C by hand"
	limit        = "limit"
)

func (c *contender) name() string {
	switch c.kind {
	case library:
		return library + " " + c.kernel
	case cachedStores:
		return library + " " + c.kernel + ", " + c.kind
	}
	if c.kernel != "" {
		return c.kind + " " + c.kernel
	}
	return c.kind
}

var libraryStreamBytes = *tune.StreamBytes

// choose prepares the library for a contender.
func (c *contender) choose() {
	if c.kernel != "" {
		tune.Use(c.kernel)
	}
	*tune.StreamBytes = c.streamFrom
}

// contenders returns the contenders that take part in a job.
func contenders(x *operands) []contender {
	j := x.job
	var cs []contender
	add := func(kind, kernel string, streamFrom uintptr, run func(n int)) {
		if run != nil {
			cs = append(cs, contender{kind, kernel, streamFrom, run})
		}
	}
	ours, loop := j.work(x)
	for i, kernel := range tune.Kernels {
		add(library, kernel, libraryStreamBytes, ours)
		if i > 0 && x.place != inPlace && uintptr(x.n*j.laneBits(x.place)/8) >= libraryStreamBytes {
			add(cachedStores, kernel, math.MaxInt, ours)
		}
		if j.replaced != nil {
			add(j.replaces, kernel, libraryStreamBytes, j.replaced(x))
		}
	}
	add(goLoop, "", 0, loop)
	add(cLoop, "", 0, cWork(j.name, x))
	add(archsimdLoop, "", 0, archsimdWork(x))
	if j.libyuv != "" {
		add(libyuv, "", 0, cWork(j.libyuv, x))
	}
	if j.byHand {
		add(byHand, "", 0, cWork(j.name+" by hand", x))
	}
	if !j.warp && j.limited() {
		add(limit, "", 0, cLimit(limitMoves(x), x))
	}
	return cs
}

// A move reads bytes of some streams and writes their xor. If it reads only one stream, it
// writes the complement. dst and src have places, and a place is the number of a stream plus
// eight times an offset in it. -1 is no place.
type move struct {
	bytes, dst int64
	src        [4]int64
}

// limited reports whether the job has a limit. It has one if a lane takes at most 64 bits of
// each operand, and if many lanes are active.
func (j *job) limited() bool { return j.laneWords() == 1 && j.sparse == 0 }

// limitMoves returns moves that read all inputs of a job once and write all its outputs
// once. They move whole vectors, whatever the widths of the elements. They leave out active
// masks.
func limitMoves(x *operands) []move {
	// The moves are made of chunks of n bytes. An operand of 32-bit elements has four chunks.
	var in, out []int64
	for k, o := range x.job.operands {
		for chunk := range o.laneBits() / 8 {
			at := int64(k + 8*chunk*x.n)
			if o.kind == output {
				out = append(out, at)
			} else {
				in = append(in, at)
			}
		}
	}
	var moves []move
	for i, dst := range out {
		m := move{int64(x.n), dst, [4]int64{-1, -1, -1, -1}}
		m.src[0] = in[i%len(in)]
		for s := 1; i+s*len(out) < len(in); s++ {
			m.src[s] = in[i+s*len(out)]
		}
		if last := len(moves) - 1; last >= 0 && moves[last].continues(m) {
			moves[last].bytes += m.bytes
		} else {
			moves = append(moves, m)
		}
	}
	return moves
}

// continues reports whether n starts where m ends.
func (m move) continues(n move) bool {
	for s := range m.src {
		if m.src[s] < 0 != (n.src[s] < 0) || n.src[s] >= 0 && n.src[s] != m.src[s]+8*m.bytes {
			return false
		}
	}
	return n.dst == m.dst+8*m.bytes
}

// quartiles returns the quartiles of samples, to four digits. No measurement is more exact.
func quartiles(samples []float64) (q1, median, q3 float64) {
	return round(quantile(samples, 0.25)), round(quantile(samples, 0.5)), round(quantile(samples, 0.75))
}

func round(x float64) float64 {
	scale := math.Pow(10, 3-math.Floor(math.Log10(x)))
	return math.Round(x*scale) / scale
}

// quantile returns the value below which the fraction q of the samples lies. It interpolates
// between the two nearest samples.
func quantile(samples []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

// ratios returns a over b for each round. If something slows a whole round, it cancels out.
func ratios(a, b []float64) []float64 {
	r := make([]float64, len(a))
	for i := range r {
		r[i] = a[i] / b[i]
	}
	return r
}

// fewestRounds is the number of rounds if calls take very long.
const fewestRounds = 5

// measure times the contenders in turn, round after round. Each contender runs for about
// benchtime in all. If single calls take longer than a batch should, there are fewer rounds.
// measure returns the nanoseconds of a call, for each contender and round.
func measure(cs []contender, benchtime time.Duration, rounds int) [][]float64 {
	batch := benchtime / time.Duration(rounds)
	iters := make([]int, len(cs))
	var round time.Duration
	for i := range cs {
		cs[i].choose()
		call := calibrate(cs[i].run, batch)
		iters[i] = max(int(float64(batch)/call), 1)
		round += time.Duration(float64(iters[i]) * call)
	}
	affordable := int(benchtime * time.Duration(len(cs)) / round)
	rounds = min(rounds, max(affordable, fewestRounds))
	samples := make([][]float64, len(cs))
	for r := range rounds {
		for k := range cs {
			i := (k + r) % len(cs) // each round starts with another contender
			cs[i].choose()
			if iters[i] > 1 {
				cs[i].run(1) // loads code and data into the caches
			}
			samples[i] = append(samples[i], float64(clock(cs[i].run, iters[i]))/float64(iters[i]))
		}
	}
	return samples
}

// interruption is longer than the operating system interrupts a process.
const interruption = 50 * time.Millisecond

// calibrate returns a rough value for the nanoseconds of a call.
func calibrate(run func(iters int), batch time.Duration) float64 {
	for n := 1; ; n *= 4 {
		d := clock(run, n)
		for try := 0; try < 2 && batch/8 <= d && d < interruption; try++ {
			d = min(d, clock(run, n))
		}
		if d >= batch/8 || n > math.MaxInt32 {
			return float64(d) / float64(n)
		}
	}
}

func clock(run func(iters int), iters int) time.Duration {
	start := time.Now()
	run(iters)
	return max(time.Since(start), 1)
}
