package main

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/gobfi/bfi"
)

// The fields of a key. Keys sort by time, then by shard, tenant and sequence.
const (
	timePos, timeBits         = 23, 41 // Unix milliseconds, until 2039
	shardPos, shardBits       = 18, 5
	tenantPos, tenantBits     = 10, 8 // the tenant, or the number of its name among all names in order
	sequencePos, sequenceBits = 2, 8
	flagPos, flagBits         = 0, 2
)

// Values of the flag's field.
const (
	flagFalse = iota
	flagTrue
	flagNull
)

// events are the columns of a group as slices. If Arrow has a column as one slice of
// this type, both share the memory.
type events struct {
	time            []arrow.Timestamp
	shard, sequence []uint16
	tenant          []uint32
	flag            []byte // a bit for each row; a null's bit is 0
	valid           []byte // a bit for each row, or nil if no flag is null
}

// take takes the columns from a table and checks that each value fits its field.
func (e *events) take(g group, table arrow.Table, tenants []string) error {
	time, err := whole[*array.Timestamp](g, table, "time")
	if err != nil {
		return err
	}
	shard, err := whole[*array.Uint16](g, table, "shard")
	if err != nil {
		return err
	}
	sequence, err := whole[*array.Uint16](g, table, "sequence")
	if err != nil {
		return err
	}
	e.time, e.shard, e.sequence = time.Values(), shard.Values(), sequence.Values()
	if e.tenant, err = tenantCodes(g, table, tenants); err != nil {
		return err
	}
	if err := e.takeFlags(g, table); err != nil {
		return err
	}
	for _, err := range []error{
		fits(g, "time", e.time, timeBits), fits(g, "shard", e.shard, shardBits),
		fits(g, "tenant", e.tenant, tenantBits), fits(g, "sequence", e.sequence, sequenceBits),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// whole returns a column as one array, and an error if a value is null. It copies only
// if the column has several chunks.
func whole[A arrow.Array](g group, table arrow.Table, name string) (a A, err error) {
	joined, err := join(column(table, name))
	if err != nil {
		return a, fmt.Errorf("%s: %s: %w", g, name, err)
	}
	return joined.(A), notNull(g, name, 0, joined)
}

func join(c *arrow.Chunked) (arrow.Array, error) {
	if len(c.Chunks()) == 1 {
		return c.Chunk(0), nil
	}
	return array.Concatenate(c.Chunks(), memory.DefaultAllocator)
}

// notNull returns an error if a value is null. The array begins at row first of the group.
func notNull(g group, name string, first int, a arrow.Array) error {
	if a.NullN() == 0 {
		return nil
	}
	i := 0
	for a.IsValid(i) {
		i++
	}
	return g.row(first+i, "%s is null", name)
}

// tenantCodes returns a number for each row's tenant. If tenants are strings, it returns
// their indices in names.
func tenantCodes(g group, table arrow.Table, names []string) ([]uint32, error) {
	chunks := column(table, "tenant")
	if chunks.DataType().ID() == arrow.UINT32 {
		if len(names) > 0 {
			return nil, fmt.Errorf("%s: column tenant has numbers, but other files have names", g.name())
		}
		numbers, err := whole[*array.Uint32](g, table, "tenant")
		if err != nil {
			return nil, err
		}
		return numbers.Values(), nil
	}
	codes := make([]uint32, 0, g.Rows)
	for _, chunk := range chunks.Chunks() { // each has a dictionary of its own
		if err := notNull(g, "tenant", len(codes), chunk); err != nil {
			return nil, err
		}
		d := chunk.(*array.Dictionary)
		list := d.Dictionary().(*array.String)
		numbers := make([]uint32, list.Len())
		for i := range numbers {
			n, ok := slices.BinarySearch(names, list.Value(i))
			if !ok {
				return nil, fmt.Errorf("%s: tenant %q was not there before", g, list.Value(i))
			}
			numbers[i] = uint32(n)
		}
		for i := range d.Len() {
			codes = append(codes, numbers[d.GetValueIndex(i)])
		}
	}
	return codes, nil
}

func (e *events) takeFlags(g group, table arrow.Table) error {
	joined, err := join(column(table, "flag"))
	if err != nil {
		return fmt.Errorf("%s: flag: %w", g, err)
	}
	flags := joined.(*array.Boolean)
	offset, n := flags.Offset(), flags.Len()
	e.flag = cut(flags.Data().Buffers()[1].Bytes(), offset, n)
	if flags.NullN() == 0 {
		return nil
	}
	e.valid = cut(flags.NullBitmapBytes(), offset, n)
	set := make([]byte, len(e.valid)) // in Arrow a null's bit may be 0 or 1
	bitutil.BitmapAnd(e.flag, e.valid, 0, 0, set, 0, int64(n))
	e.flag = set
	return nil
}

// cut returns n bits of a bitmap from an offset on, in as few bytes as hold them. It
// copies them only if they do not begin with a byte.
func cut(bitmap []byte, offset, n int) []byte {
	size := int(bitutil.BytesForBits(int64(n)))
	if offset%8 == 0 {
		return bitmap[offset/8:][:size]
	}
	b := make([]byte, size)
	bitutil.CopyBitmap(bitmap, offset, n, b, 0)
	return b
}

// fits returns an error for the first value that has more bits than its field.
func fits[E ~int64 | ~uint16 | ~uint32](g group, name string, values []E, bits int) error {
	var all uint64
	for _, x := range values {
		all |= uint64(x)
	}
	if all>>bits == 0 {
		return nil
	}
	i := slices.IndexFunc(values, func(x E) bool { return uint64(x)>>bits != 0 })
	return g.row(i, "%s is %d, which does not fit into %d bits", name, values[i], bits)
}

// pack packs the keys with bfi.
func (e *events) pack(keys []uint64) {
	flag := uint64(flagFalse)
	if e.valid != nil {
		flag = flagNull
	}
	bfi.Pack(keys, nil,
		bfi.Column(e.time, timePos, timeBits), bfi.Column(e.shard, shardPos, shardBits),
		bfi.Column(e.tenant, tenantPos, tenantBits), bfi.Column(e.sequence, sequencePos, sequenceBits),
		bfi.Constant(flag, flagPos, flagBits))
	if e.valid != nil {
		bfi.FillMasked(keys, flagFalse, keys, flagPos, flagBits, e.valid)
	}
	bfi.FillMasked(keys, flagTrue, keys, flagPos, flagBits, e.flag)
}

// packLoop packs the keys with a plain loop.
func (e *events) packLoop(keys []uint64) {
	n := len(keys)
	time, shard, tenant, sequence := e.time[:n], e.shard[:n], e.tenant[:n], e.sequence[:n]
	set, valid := e.flag, e.valid
	for i := range keys {
		at, bit := uint(i)/8, uint(i)%8
		flag := uint64(set[at]>>bit) & 1 // flagTrue is 1
		if valid != nil {
			flag |= uint64(^valid[at]>>bit) & 1 << 1 // flagNull is 2
		}
		keys[i] = uint64(time[i])<<timePos | uint64(shard[i])<<shardPos | uint64(tenant[i])<<tenantPos |
			uint64(sequence[i])<<sequencePos | flag<<flagPos
	}
}
