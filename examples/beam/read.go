package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// columns are the columns of the input, in their order in the output.
var columns = []struct {
	name, want string
	ok         func(arrow.DataType) bool
}{
	{"time", "timestamp[ms]", func(t arrow.DataType) bool {
		ts, ok := t.(*arrow.TimestampType)
		return ok && ts.Unit == arrow.Millisecond
	}},
	{"shard", "uint16", func(t arrow.DataType) bool { return t.ID() == arrow.UINT16 }},
	{"sequence", "uint16", func(t arrow.DataType) bool { return t.ID() == arrow.UINT16 }},
	{"tenant", "uint32 or utf8", func(t arrow.DataType) bool { return t.ID() == arrow.UINT32 || isNames(t) }},
	{"flag", "bool", func(t arrow.DataType) bool { return t.ID() == arrow.BOOL }},
}

var columnNames = []string{"time", "shard", "sequence", "tenant", "flag"}

// isNames reports whether a column of type t has strings. read returns them as a dictionary.
func isNames(t arrow.DataType) bool {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	return t.ID() == arrow.STRING
}

// A group is one row group of a file, or of the rows that are made.
type group struct {
	File  string // empty if made
	Index int
	First int64 // the first row's number in the file
	Rows  int64
	Size  int64  // bytes of its columns in the file
	Part  string // name of its part of the output
}

// String names the rows of the group.
func (g group) String() string {
	return fmt.Sprintf("%s: rows %d to %d", g.name(), g.First, g.First+g.Rows-1)
}

func (g group) name() string {
	if g.File == "" {
		return "made rows"
	}
	return g.File
}

// row returns an error of one row of the group.
func (g group) row(i int, format string, args ...any) error {
	return fmt.Errorf("%s: row %d: %s", g.name(), g.First+int64(i), fmt.Sprintf(format, args...))
}

func partName(file, index int) string { return fmt.Sprintf("part-%05d-%05d.parquet", file, index) }

// open opens a Parquet file. It finds the numbers of the columns and checks their types.
func open(ctx context.Context, name string) (r *pqarrow.FileReader, numbers map[string]int, err error) {
	defer func() {
		if p := recover(); p != nil { // Arrow panics on some broken files
			err = fmt.Errorf("%v", p)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	fs, err := filesystem.New(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	defer fs.Close()
	opened, err := fs.OpenRead(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	source, ok := opened.(parquet.ReaderAtSeeker)
	if !ok { // object stores have no Seek here
		b, err := io.ReadAll(opened)
		opened.Close()
		if err != nil {
			return nil, nil, err
		}
		source = bytes.NewReader(b)
	}
	parquetFile, err := file.NewParquetReader(source)
	if err != nil {
		opened.Close()
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			parquetFile.Close()
		}
	}()
	props := pqarrow.ArrowReadProperties{BatchSize: 1 << 20}
	tenant := parquetFile.MetaData().Schema.ColumnIndexByName("tenant")
	if tenant >= 0 && parquetFile.MetaData().Schema.Column(tenant).PhysicalType() == parquet.Types.ByteArray {
		props.SetReadDict(tenant, true)
	}
	if r, err = pqarrow.NewFileReader(parquetFile, props, memory.DefaultAllocator); err != nil {
		return nil, nil, err
	}
	numbers = map[string]int{}
	for _, c := range columns {
		n := parquetFile.MetaData().Schema.ColumnIndexByName(c.name)
		if n < 0 {
			return nil, nil, fmt.Errorf("no column %s", c.name)
		}
		field, err := r.Manifest.GetColumnField(n)
		if err != nil {
			return nil, nil, err
		}
		if !c.ok(field.Field.Type) {
			return nil, nil, fmt.Errorf("column %s is %v, want %s", c.name, field.Field.Type, c.want)
		}
		numbers[c.name] = n
	}
	return r, numbers, nil
}

// groupsOf returns the row groups of a file. The names of their parts have the file's
// number.
func groupsOf(ctx context.Context, number int, name string) ([]group, error) {
	r, numbers, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.ParquetReader().Close()
	var list []group
	first := int64(0)
	for i := range r.ParquetReader().NumRowGroups() {
		meta := r.ParquetReader().MetaData().RowGroup(i)
		g := group{name, i, first, meta.NumRows(), 0, partName(number, i)}
		for _, n := range numbers {
			chunk, err := meta.ColumnChunk(n)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", g, err)
			}
			g.Size += chunk.TotalCompressedSize()
		}
		list = append(list, g)
		first += g.Rows
	}
	return list, nil
}

// read returns some columns of a group. The caller releases them.
func (g group) read(ctx context.Context, names ...string) (arrow.Table, error) {
	if g.File == "" {
		return g.make(), nil
	}
	r, numbers, err := open(ctx, g.File)
	if err != nil {
		return nil, err
	}
	defer r.ParquetReader().Close()
	var list []int
	for _, name := range names {
		list = append(list, numbers[name])
	}
	table, err := r.ReadRowGroups(ctx, list, []int{g.Index})
	if err == nil && table.NumRows() != g.Rows {
		err = fmt.Errorf("it has %d rows, want %d", table.NumRows(), g.Rows)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g, err)
	}
	return table, nil
}

// tenants returns the names of the tenants in a group, or nothing if they are numbers.
func (g group) tenants(ctx context.Context) ([]string, error) {
	table, err := g.read(ctx, "tenant")
	if err != nil {
		return nil, err
	}
	defer table.Release()
	var names []string
	for _, chunk := range column(table, "tenant").Chunks() {
		if d, ok := chunk.(*array.Dictionary); ok {
			list := d.Dictionary().(*array.String)
			for i := range list.Len() {
				names = append(names, list.Value(i))
			}
		}
	}
	return names, nil
}

func column(table arrow.Table, name string) *arrow.Chunked {
	return table.Column(table.Schema().FieldIndices(name)[0]).Data()
}

const (
	seed      = 20260101
	groupRows = 1 << 17 // rows of a group that is made
)

// madeGroups returns the groups for the given number of rows.
func madeGroups(rows int64) []group {
	var list []group
	for first := int64(0); first < rows; first += groupRows {
		list = append(list, group{"", len(list), first, min(rows-first, groupRows), 0, partName(0, len(list))})
	}
	return list
}

// make makes a group. The seed and the group's number decide every value.
func (g group) make() arrow.Table {
	r := rand.New(rand.NewPCG(seed, uint64(g.Index)))
	ms := &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}
	names := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "time", Type: ms}, {Name: "shard", Type: arrow.PrimitiveTypes.Uint16},
		{Name: "sequence", Type: arrow.PrimitiveTypes.Uint16}, {Name: "tenant", Type: names},
		{Name: "flag", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	tenants := make([]string, 1<<tenantBits)
	for i := range tenants {
		tenants[i] = fmt.Sprintf("tenant-%03d", i)
	}
	const start = 1_767_225_600_000 // 2026-01-01
	for i := range g.Rows {
		b.Field(0).(*array.TimestampBuilder).Append(arrow.Timestamp(start + 3*(g.First+i) + r.Int64N(3)))
		b.Field(1).(*array.Uint16Builder).Append(uint16(r.IntN(1 << shardBits)))
		b.Field(2).(*array.Uint16Builder).Append(uint16(r.IntN(1 << sequenceBits)))
		b.Field(3).(*array.BinaryDictionaryBuilder).AppendString(tenants[r.IntN(len(tenants))])
		if f := b.Field(4).(*array.BooleanBuilder); r.IntN(10) == 0 {
			f.AppendNull()
		} else {
			f.Append(r.IntN(2) == 0)
		}
	}
	record := b.NewRecordBatch()
	defer record.Release()
	return array.NewTableFromRecords(schema, []arrow.RecordBatch{record})
}
