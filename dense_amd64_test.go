//go:build gc && !purego && !noasm && !appengine

package bfi

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
)

// TestByteTables makes calls of more shapes than there is room for, on several goroutines
// at once, beginning without tables. Words and groups must be those of the portable loops.
func TestByteTables(t *testing.T) {
	if !vbmi {
		t.Skip("no kernel has tables on this processor")
	}
	onEveryLevel(func(k kernel) {
		for i := range byteTables {
			byteTables[i].shape.Store(noShape)
			byteTables[i].table = byteTable{}
		}
		var together sync.WaitGroup
		for range 4 {
			together.Add(1)
			go func() {
				defer together.Done()
				r := rand.New(rand.NewPCG(5, 6))
				for count := 1; count <= 2*len(byteTables); count++ {
					d := dense{count: 1 + count%64, width: 1 + count/64*(count%2)}
					if d.count*d.width > 64 {
						d.width = 1
					}
					for _, n := range []int{64, 1 + anewBytes/d.count} {
						words, groups := make([]byte, 8*n), make([]byte, d.count*n)
						for i := range groups {
							groups[i] = byte(r.Uint32())
						}
						want := make([]byte, len(words))
						gatherBits(pointer(words), 8, n, pointer(groups), 1, d.count, &d)
						gatherBitsGeneric(pointer(want), 8, n, pointer(groups), 1, d.count, d)
						if !bytes.Equal(words, want) {
							t.Errorf("%v: words of %+v are wrong", k, d)
						}
						want = make([]byte, len(groups))
						scatterBits(pointer(groups), 1, d.count, pointer(words), 8, n, &d)
						scatterBitsGeneric(pointer(want), 1, d.count, pointer(words), 8, n, d)
						if !bytes.Equal(groups, want) {
							t.Errorf("%v: groups of %+v are wrong", k, d)
						}
					}
				}
			}()
		}
		together.Wait()
	})
}
