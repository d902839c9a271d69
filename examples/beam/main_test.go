package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/gobfi/bfi"
)

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	os.Exit(m.Run())
}

// runJob runs a job, and returns its directory and what it printed on standard error.
func runJob(t *testing.T, j job) (dir, progress string) {
	t.Helper()
	if j.out == "" {
		j.out = filepath.Join(t.TempDir(), "out")
	}
	var stderr bytes.Buffer
	if err := start(context.Background(), j, nil, io.Discard, &stderr); err != nil {
		t.Fatal(err)
	}
	return j.out, stderr.String()
}

// refused runs a job that must fail, and checks that it leaves nothing.
func refused(t *testing.T, j job, want string) {
	t.Helper()
	j.out = filepath.Join(t.TempDir(), "out")
	err := start(context.Background(), j, nil, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %q", err, want)
	}
	if left, _ := os.ReadDir(j.out); len(left) > 0 {
		t.Errorf("the job leaves %v", left)
	}
}

// writeInput writes a file with a row group for each table.
func writeInput(t *testing.T, name string, tables ...arrow.Table) string {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pqarrow.NewFileWriter(tables[0].Schema(), file, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if err := w.WriteTable(table, table.NumRows()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// replaced returns the table with the named column replaced by with, or removed if with
// is nil.
func replaced(table arrow.Table, name string, with arrow.Array) arrow.Table {
	var fields []arrow.Field
	var list []arrow.Column
	for i, field := range table.Schema().Fields() {
		c := *table.Column(i)
		if field.Name == name {
			if with == nil {
				continue
			}
			field = arrow.Field{Name: name, Type: with.DataType(), Nullable: true}
			c = arrow.NewColumnFromArr(field, with)
		}
		fields, list = append(fields, field), append(list, c)
	}
	return array.NewTable(arrow.NewSchema(fields, nil), list, table.NumRows())
}

// uint16s returns a column of n values. The value at index null is null, unless null is -1.
func uint16s(n, null int, value func(i int) uint16) arrow.Array {
	b := array.NewUint16Builder(memory.DefaultAllocator)
	for i := range n {
		if i == null {
			b.AppendNull()
		} else {
			b.Append(value(i))
		}
	}
	return b.NewArray()
}

func small(i int) uint16 { return uint16(i % 32) }

// numbered returns the table with each tenant's name replaced by the number in the name.
func numbered(table arrow.Table) arrow.Table {
	b := array.NewUint32Builder(memory.DefaultAllocator)
	names := column(table, "tenant").Chunk(0).(*array.Dictionary)
	for i := range names.Len() {
		var n uint32
		fmt.Sscanf(names.ValueStr(i), "tenant-%03d", &n)
		b.Append(n)
	}
	return replaced(table, "tenant", b.NewArray())
}

// value returns a row of a column, or nil if it is null.
func value(c *arrow.Chunked, row int) any {
	for _, chunk := range c.Chunks() {
		if row >= chunk.Len() {
			row -= chunk.Len()
			continue
		}
		if chunk.IsNull(row) {
			return nil
		}
		switch a := chunk.(type) {
		case *array.Timestamp:
			return int64(a.Value(row))
		case *array.Dictionary:
			return a.ValueStr(row)
		case *array.Boolean:
			return a.Value(row)
		case *array.Uint16:
			return a.Value(row)
		case *array.Uint32:
			return a.Value(row)
		case *array.Uint64:
			return a.Value(row)
		}
	}
	return fmt.Sprintf("no row %d", row)
}

// plainKey makes a key by arithmetic on the values of a row.
func plainKey(table arrow.Table, row int) uint64 {
	var tenant uint64
	switch x := value(column(table, "tenant"), row).(type) {
	case string:
		fmt.Sscanf(x, "tenant-%03d", &tenant)
	case uint32:
		tenant = uint64(x)
	}
	flag := uint64(2)
	switch value(column(table, "flag"), row) {
	case false:
		flag = 0
	case true:
		flag = 1
	}
	key := uint64(value(column(table, "time"), row).(int64))
	key = key*32 + uint64(value(column(table, "shard"), row).(uint16))
	key = key*256 + tenant
	key = key*256 + uint64(value(column(table, "sequence"), row).(uint16))
	return key*4 + flag
}

// checkPart compares a part with the table that it was made of.
func checkPart(t *testing.T, name string, want arrow.Table) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	have, err := pqarrow.ReadTable(context.Background(), file, nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	if have.NumRows() != want.NumRows() || have.NumCols() != 6 {
		t.Fatalf("%s has %d rows and %d columns, want %d and 6", name, have.NumRows(), have.NumCols(), want.NumRows())
	}
	n := int(have.NumRows())
	keys := make([]uint64, n)
	for i := range n {
		keys[i] = value(column(have, "key"), i).(uint64)
		if want := plainKey(want, i); keys[i] != want {
			t.Fatalf("%s: row %d: the key is %#x, want %#x", name, i, keys[i], want)
		}
		for _, c := range columnNames {
			if have, want := value(column(have, c), i), value(column(want, c), i); have != want {
				t.Fatalf("%s: row %d: %s is %v, want %v", name, i, c, have, want)
			}
		}
	}
	ms, shard, tenant := make([]uint64, n), make([]uint16, n), make([]uint32, n)
	sequence, flag := make([]uint8, n), make([]uint8, n)
	bfi.Unpack(keys, bfi.Column(ms, timePos, timeBits), bfi.Column(shard, shardPos, shardBits),
		bfi.Column(tenant, tenantPos, tenantBits), bfi.Column(sequence, sequencePos, sequenceBits),
		bfi.Column(flag, flagPos, flagBits))
	for i := range n {
		back := []any{int64(ms[i]), shard[i], uint16(sequence[i]), fmt.Sprintf("tenant-%03d", tenant[i]),
			any(flag[i] == flagTrue)}
		if column(want, "tenant").DataType().ID() == arrow.UINT32 {
			back[3] = tenant[i]
		}
		if flag[i] == flagNull {
			back[4] = nil
		}
		for k, c := range columnNames {
			if want := value(column(want, c), i); back[k] != want {
				t.Fatalf("%s: row %d: %s is unpacked to %v, want %v", name, i, c, back[k], want)
			}
		}
	}
}

// files returns the names and contents of a directory's files.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for _, f := range list {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		contents[f.Name()] = string(b)
	}
	return contents
}

func same(t *testing.T, a, b string) {
	t.Helper()
	x, y := files(t, a), files(t, b)
	if len(x) != len(y) {
		t.Errorf("%d and %d files", len(x), len(y))
	}
	for name := range x {
		if x[name] != y[name] {
			t.Errorf("%s differs", name)
		}
	}
}

// TestMade runs the job three times on rows that it makes itself, the third time with a
// plain loop. Then it runs the job on the output.
func TestMade(t *testing.T) {
	const rows = 2*groupRows + 12345
	defer func(d time.Duration) { progressInterval = d }(progressInterval)
	progressInterval = time.Millisecond
	dir, progress := runJob(t, job{rows: rows})
	groups := madeGroups(rows)
	if have, want := plainKey(groups[2].make(), 12344), uint64(0xcdbb739c54c2665c); have != want {
		t.Errorf("the last key made is %#x, want %#x: the made data has changed", have, want)
	}
	if n := len(files(t, dir)); n != len(groups) {
		t.Errorf("%d files, want %d", n, len(groups))
	}
	for _, g := range groups {
		checkPart(t, filepath.Join(dir, g.Part), g.make())
	}
	if !strings.Contains(progress, " rows\n") {
		t.Errorf("the progress is %q", progress)
	}
	again, _ := runJob(t, job{rows: rows})
	same(t, dir, again)
	loop, _ := runJob(t, job{rows: rows, loop: true})
	same(t, dir, loop)

	// The output has the input's columns, so it may be the input.
	from, _ := runJob(t, job{in: filepath.Join(dir, "*.parquet")})
	for i, g := range groups {
		checkPart(t, filepath.Join(from, partName(i, 0)), g.make())
	}
	err := start(context.Background(), job{out: dir}, nil, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "want an empty directory") {
		t.Errorf("a directory with files: %v", err)
	}
}

// TestFiles reads files of several row groups, whose tenants are names or numbers.
func TestFiles(t *testing.T) {
	var names, numbers []arrow.Table
	for i, rows := range []int64{1000, 1, 777} {
		table := group{Index: i, Rows: rows}.make()
		names, numbers = append(names, table), append(numbers, numbered(table))
	}
	// Every name must occur. A missing name would change the numbers of the names after it.
	all := group{Index: 3, Rows: 20000}.make()
	names, numbers = append(names, all), append(numbers, numbered(all))
	for kind, tables := range map[string][]arrow.Table{"names": names, "numbers": numbers} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			writeInput(t, filepath.Join(dir, "a.parquet"), tables[:2]...)
			writeInput(t, filepath.Join(dir, "b.parquet"), tables[2:]...)
			out, _ := runJob(t, job{in: filepath.Join(dir, "*.parquet")})
			for i, table := range tables {
				checkPart(t, filepath.Join(out, partName(i/2, i%2)), table)
			}
		})
	}
}

// TestPieces packs columns that begin inside a byte of their bitmaps, in one piece
// and in two.
func TestPieces(t *testing.T) {
	whole := numbered(group{Rows: 1000}.make())
	for _, cuts := range [][]int64{{0, 1000}, {8, 1000}, {3, 700}, {3, 20, 701}, {5, 5, 6, 999}} {
		var fields []arrow.Column
		for i := range int(whole.NumCols()) {
			var chunks []arrow.Array
			for k := range cuts[1:] {
				chunks = append(chunks, array.NewSlice(whole.Column(i).Data().Chunk(0), cuts[k], cuts[k+1]))
			}
			fields = append(fields, *arrow.NewColumn(whole.Schema().Field(i), arrow.NewChunked(chunks[0].DataType(), chunks)))
		}
		n := cuts[len(cuts)-1] - cuts[0]
		table := array.NewTable(whole.Schema(), fields, n)
		var e events
		if err := e.take(group{Rows: n}, table, nil); err != nil {
			t.Fatal(err)
		}
		keys, loop := make([]uint64, n), make([]uint64, n)
		e.pack(keys)
		e.packLoop(loop)
		if !slices.Equal(keys, loop) {
			t.Errorf("cut at %v, the plain loop makes other keys", cuts)
		}
		for i := range keys {
			if want := plainKey(table, i); keys[i] != want {
				t.Fatalf("cut at %v, key %d is %#x, want %#x", cuts, i, keys[i], want)
			}
		}
	}
}

// TestRefused checks that errors name the file, the column and the row.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	good := group{Rows: 1000}.make()
	late := func(i int) uint16 { return uint16(i / 900 * 256) } // 256 from row 900 on
	for _, c := range []struct {
		column string
		values arrow.Array // of the second row group
		want   string
	}{
		{"sequence", uint16s(1000, -1, late), "row 1900: sequence is 256, which does not fit into 8 bits"},
		{"shard", uint16s(1000, -1, late), "row 1900: shard is 256, which does not fit into 5 bits"},
		{"shard", uint16s(1000, 17, small), "row 1017: shard is null"},
	} {
		first := replaced(good, c.column, uint16s(1000, -1, small))
		file := writeInput(t, filepath.Join(dir, "values"), first, replaced(good, c.column, c.values))
		refused(t, job{in: file}, file+": "+c.want)
	}
	file := writeInput(t, filepath.Join(dir, "missing"), replaced(good, "sequence", nil))
	refused(t, job{in: file}, file+": no column sequence")
	file = writeInput(t, filepath.Join(dir, "type"), replaced(good, "sequence", column(good, "flag").Chunk(0)))
	refused(t, job{in: file}, file+": column sequence is bool, want uint16")

	whole := writeInput(t, filepath.Join(dir, "whole"), good, good)
	b, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 3, len(b) / 2, len(b) - 1} {
		file := filepath.Join(dir, fmt.Sprintf("first-%d", size))
		if err := os.WriteFile(file, b[:size], 0o666); err != nil {
			t.Fatal(err)
		}
		refused(t, job{in: file}, file+": ")
	}
	// The footer is whole, but the pages before it are not.
	broken := slices.Clone(b)
	clear(broken[len(b)/3 : len(b)/3+2000])
	file = filepath.Join(dir, "broken")
	if err := os.WriteFile(file, broken, 0o666); err != nil {
		t.Fatal(err)
	}
	refused(t, job{in: file}, file+": rows ")

	numbers := writeInput(t, filepath.Join(dir, "numbers"), numbered(good))
	os.Rename(whole, filepath.Join(dir, "numbers-no"))
	refused(t, job{in: numbers + "*"}, numbers+": column tenant has numbers, but other files have names")
	refused(t, job{in: filepath.Join(dir, "nothing*")}, "nothing* matches no files")
	refused(t, job{rows: -1}, "-rows is -1")
	if err := start(context.Background(), job{}, []string{"x"}, io.Discard, io.Discard); err == nil {
		t.Error("an argument is not refused")
	}
}

// BenchmarkKeys packs the keys of one group, in cache.
func BenchmarkKeys(b *testing.B) {
	g := group{Rows: 1 << 13}
	table := numbered(g.make())
	var e events
	if err := e.take(g, table, nil); err != nil {
		b.Fatal(err)
	}
	keys := make([]uint64, g.Rows)
	for name, pack := range map[string]func([]uint64){"bfi": e.pack, "loop": e.packLoop} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				pack(keys)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(g.Rows), "ns/row")
		})
	}
}
