package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// partial ends the names of parts while the job runs.
const partial = ".partial"

// write writes the keys and their columns to a part with a temporary name. The name is
// random, because a runner may try a part twice at once.
func write(ctx context.Context, out, name string, table arrow.Table, keys []uint64) (p part, size int64, err error) {
	p.Name = strings.TrimSuffix(out, "/") + "/" + name
	p.Temporary = fmt.Sprintf("%s.%08x%s", p.Name, rand.Uint32(), partial)
	fs, err := filesystem.New(ctx, p.Temporary)
	if err != nil {
		return p, 0, err
	}
	defer fs.Close()
	w, err := fs.OpenWrite(ctx, p.Temporary)
	if err != nil {
		return p, 0, err
	}
	if err := writeParquet(w, withKeys(table, keys)); err != nil {
		return p, 0, fmt.Errorf("%s: %w", p.Temporary, err)
	}
	size, err = fs.Size(ctx, p.Temporary)
	return p, size, err
}

// withKeys returns the table with the keys as its first column, without a copy.
func withKeys(table arrow.Table, keys []uint64) arrow.Table {
	data := array.NewData(arrow.PrimitiveTypes.Uint64, len(keys), []*memory.Buffer{
		nil, memory.NewBufferBytes(arrow.Uint64Traits.CastToBytes(keys)),
	}, nil, 0, 0)
	field := arrow.Field{Name: "key", Type: arrow.PrimitiveTypes.Uint64}
	fields, list := []arrow.Field{field}, []arrow.Column{arrow.NewColumnFromArr(field, array.NewUint64Data(data))}
	for _, name := range columnNames {
		i := table.Schema().FieldIndices(name)[0]
		fields, list = append(fields, table.Schema().Field(i)), append(list, *table.Column(i))
	}
	return array.NewTable(arrow.NewSchema(fields, nil), list, int64(len(keys)))
}

// writeParquet writes a table as one row group, and closes w.
func writeParquet(w io.WriteCloser, table arrow.Table) error {
	// Nearly all keys and times differ, so a dictionary of them would be useless.
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy),
		parquet.WithDictionaryFor("key", false), parquet.WithDictionaryFor("time", false))
	f, err := pqarrow.NewFileWriter(table.Schema(), w, props, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		w.Close()
		return err
	}
	err = f.WriteTable(table, max(table.NumRows(), 1))
	if closeErr := f.Close(); err == nil { // closes w too
		err = closeErr
	}
	return err
}

// rename gives a part its name. If an earlier try did so, nothing is left to do.
func (p part) rename(ctx context.Context) error {
	fs, err := filesystem.New(ctx, p.Name)
	if err != nil {
		return err
	}
	defer fs.Close()
	if err := filesystem.Rename(ctx, fs, p.Temporary, p.Name); err != nil {
		if _, missing := fs.Size(ctx, p.Name); missing != nil {
			return err
		}
	}
	return nil
}
