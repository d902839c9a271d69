package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/metricsx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/filter"
)

const (
	namespace = "keys" // of the counters
	mark      = "\x01" // around the text of an error, so that plain finds the text in Beam's error
)

var (
	rowsCounter    = beam.NewCounter(namespace, "rows")
	readCounter    = beam.NewCounter(namespace, "bytes-read")
	writtenCounter = beam.NewCounter(namespace, "bytes-written")
	nsRead         = beam.NewCounter(namespace, "ns-read")
	nsCheck        = beam.NewCounter(namespace, "ns-check")
	nsPack         = beam.NewCounter(namespace, "ns-pack")
	nsWrite        = beam.NewCounter(namespace, "ns-write")
)

func init() {
	register.DoFn3x1[context.Context, string, func(group), error](&listFn{})
	register.DoFn3x1[context.Context, group, func(string), error](&tenantsFn{})
	register.DoFn4x1[context.Context, group, []string, func(part), error](&packFn{})
	register.DoFn3x1[context.Context, int, func(*part) bool, error](&renameFn{})
	register.Emitter1[group]()
	register.Emitter1[string]()
	register.Emitter1[part]()
	register.Iter1[part]()
}

// pipeline returns the pipeline of a job:
//
//	list      finds the row groups, and checks their columns
//	tenants   collects the names of all tenants, which pack needs
//	pack      reads a row group, packs its keys, and writes a part under a temporary name
//	rename    gives the parts their names when all are written
func (j job) pipeline() *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	// Reshuffle lets the runner give the row groups of one file to many workers.
	groups := beam.Reshuffle(s, beam.ParDo(s.Scope("list"), &listFn{j.rows}, beam.Create(s, j.in)))
	tenants := filter.Distinct(s, beam.ParDo(s.Scope("tenants"), &tenantsFn{}, groups))
	parts := beam.ParDo(s.Scope("pack"), &packFn{Out: j.out, Loop: j.loop}, groups, beam.SideInput{Input: tenants})
	beam.ParDo0(s.Scope("rename"), &renameFn{}, beam.GroupByKey(s, beam.AddFixedKey(s, parts)))
	return p
}

type listFn struct{ Rows int64 }

func (f *listFn) ProcessElement(ctx context.Context, pattern string, emit func(group)) error {
	if pattern == "" {
		for _, g := range madeGroups(f.Rows) {
			emit(g)
		}
		return nil
	}
	fs, err := filesystem.New(ctx, pattern)
	if err != nil {
		return err
	}
	defer fs.Close()
	files, err := fs.List(ctx, pattern)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("-in %s matches no files", pattern)
	}
	if err != nil {
		return marked(err)
	}
	slices.Sort(files)
	for i, name := range files {
		groups, err := groupsOf(ctx, i, name)
		if err != nil {
			return marked(err)
		}
		for _, g := range groups {
			emit(g)
		}
	}
	return nil
}

// marked returns an error whose text plain finds.
func marked(err error) error { return fmt.Errorf("%s%w%[1]s", mark, err) }

type tenantsFn struct{}

func (f *tenantsFn) ProcessElement(ctx context.Context, g group, emit func(string)) error {
	names, err := g.tenants(ctx)
	if err != nil {
		return marked(err)
	}
	for _, name := range names {
		emit(name)
	}
	return nil
}

// A part is a file of the output. It has one row group.
type part struct{ Temporary, Name string }

// packFn works on as many row groups at a time as the worker has cores. Some runners,
// Prism among them, give a bundle of row groups to one thread.
type packFn struct {
	Out     string
	Loop    bool
	running int
	done    chan packed
}

type packed struct {
	part
	rows, read, written                      int64
	readTime, checkTime, packTime, writeTime time.Duration
	err                                      error
}

func (f *packFn) StartBundle(_ context.Context, _ []string, _ func(part)) error {
	f.running, f.done = 0, make(chan packed, runtime.GOMAXPROCS(0))
	return nil
}

func (f *packFn) ProcessElement(ctx context.Context, g group, tenants []string, emit func(part)) error {
	tenants = slices.Sorted(slices.Values(tenants)) // a copy, because the side input may be shared
	if f.running == cap(f.done) {
		if err := f.wait(ctx, emit); err != nil {
			return err
		}
	}
	f.running++
	go func() { f.done <- f.pack(ctx, g, tenants) }()
	return nil
}

func (f *packFn) FinishBundle(ctx context.Context, _ []string, emit func(part)) error {
	for f.running > 0 {
		if err := f.wait(ctx, emit); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for one row group. If the group failed, wait also waits for all others: a
// failed job must not write anything later.
func (f *packFn) wait(ctx context.Context, emit func(part)) error {
	p := <-f.done
	f.running--
	if p.err != nil {
		for ; f.running > 0; f.running-- {
			<-f.done
		}
		return marked(p.err)
	}
	rowsCounter.Inc(ctx, p.rows)
	readCounter.Inc(ctx, p.read)
	writtenCounter.Inc(ctx, p.written)
	nsRead.Inc(ctx, int64(p.readTime))
	nsCheck.Inc(ctx, int64(p.checkTime))
	nsPack.Inc(ctx, int64(p.packTime))
	nsWrite.Inc(ctx, int64(p.writeTime))
	emit(p.part)
	return nil
}

func (f *packFn) pack(ctx context.Context, g group, tenants []string) (p packed) {
	defer func() { // the goroutine is not Beam's, so a panic would end the process
		if x := recover(); x != nil {
			p.err = fmt.Errorf("%s: panic: %v", g, x)
		}
	}()
	last := time.Now()
	lap := func(d *time.Duration) { now := time.Now(); *d, last = now.Sub(last), now }
	p.rows, p.read = g.Rows, g.Size
	table, err := g.read(ctx, columnNames...)
	if err != nil {
		p.err = err
		return p
	}
	defer table.Release()
	keys := make([]uint64, table.NumRows()) // here, so that the time of packing does not include the allocation
	lap(&p.readTime)
	var e events
	if p.err = e.take(g, table, tenants); p.err != nil {
		return p
	}
	lap(&p.checkTime)
	if f.Loop {
		e.packLoop(keys)
	} else {
		e.pack(keys)
	}
	lap(&p.packTime)
	p.part, p.written, p.err = write(ctx, f.Out, g.Part, table, keys)
	lap(&p.writeTime)
	return p
}

type renameFn struct{}

func (f *renameFn) ProcessElement(ctx context.Context, _ int, parts func(*part) bool) error {
	var p part
	for parts(&p) {
		if err := p.rename(ctx); err != nil {
			return marked(err)
		}
	}
	return nil
}

// userCounters returns a job's metrics that are counters of DoFns.
func userCounters(list []*pipepb.MonitoringInfo) []*pipepb.MonitoringInfo {
	return slices.DeleteFunc(list, func(m *pipepb.MonitoringInfo) bool {
		return m.GetUrn() != metricsx.UrnToString(metricsx.UrnUserSumInt64)
	})
}
