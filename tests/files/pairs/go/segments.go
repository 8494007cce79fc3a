// A queue in segments: each item is a file of its own, which is synced. A restart removes torn ones.
package main

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
)

func push(number int, text string) {
	file, err := os.OpenFile(fmt.Sprintf("segment-%d", number), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0644)
	need(err)
	_, err = fmt.Fprintf(file, "%08x %s", crc32.ChecksumIEEE([]byte(text)), text)
	need(err)
	need(file.Sync())
	need(file.Close())
	if mended {
		syncFolder(".")
	}
	acknowledge(text)
}

// item returns the text of a segment, if the segment is whole.
func item(path string) (string, bool) {
	sum, text, found := strings.Cut(read(path), " ")
	return text, found && sum == fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text)))
}

func main() {
	verb := enter()
	switch verb {
	case "setup":
		push(1, "one")
	case "run":
		push(2, "two")
		push(3, "three")
	case "check", "dump":
		paths, _ := filepath.Glob("segment-*")
		for _, path := range paths {
			text, whole := item(path)
			if verb == "check" && !whole {
				need(os.Remove(path))
			}
			if verb == "dump" && whole {
				fmt.Println(text)
			}
		}
	}
}
