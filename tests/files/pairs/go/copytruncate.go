// A log that is rotated by a copy: "log" is copied to "log.1", and then emptied. Lines have numbers and checksums.
package main

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
)

func add(number int, text string) {
	log, err := os.OpenFile("log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0644)
	need(err)
	line := fmt.Sprintf("%d %s", number, text)
	_, err = fmt.Fprintf(log, "%08x %s\n", crc32.ChecksumIEEE([]byte(line)), line)
	need(err)
	need(log.Sync())
	need(log.Close())
	acknowledge(text)
}

func rotate() {
	log, err := os.OpenFile("log", os.O_RDWR, 0644)
	need(err)
	old, err := os.Create("log.1")
	need(err)
	_, err = io.Copy(old, log)
	need(err)
	if mended {
		need(old.Sync())
		syncFolder(".")
	}
	need(log.Truncate(0))
	need(log.Sync())
	acknowledge("rotated")
}

// lines returns the whole lines of a file that may be missing.
func lines(path string) (found []string) {
	data, _ := os.ReadFile(path)
	for _, line := range strings.SplitAfter(string(data), "\n") {
		sum, text, _ := strings.Cut(line, " ")
		text = strings.TrimSuffix(text, "\n")
		if !strings.HasSuffix(line, "\n") || sum != fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) {
			break
		}
		found = append(found, text)
	}
	return found
}

func main() {
	switch enter() {
	case "setup":
		add(1, "boot")
		add(2, "login")
	case "run":
		rotate()
		add(3, "logout")
	case "check":
		_, err := os.Stat("log")
		need(err)
	case "dump":
		seen := map[string]bool{}
		for _, line := range append(lines("log.1"), lines("log")...) {
			if !seen[line] {
				fmt.Println(line)
			}
			seen[line] = true
		}
	}
}
