// A log, and a snapshot that takes its place. The log is removed when the snapshot has its name.
package main

import (
	"fmt"
	"os"
	"strings"
)

func add(text string) {
	log, err := os.OpenFile("log", os.O_WRONLY|os.O_APPEND, 0644)
	need(err)
	_, err = log.WriteString(text + ".\n")
	need(err)
	need(log.Sync())
	need(log.Close())
	acknowledge(text)
}

// items returns those of the snapshot and of the log, which may be there beside it.
func items() (found []string) {
	found = strings.Fields(read("snapshot"))
	seen := map[string]bool{}
	for _, item := range found {
		seen[item] = true
	}
	log, _ := os.ReadFile("log")
	for _, item := range strings.SplitAfter(string(log), "\n") {
		if !strings.HasSuffix(item, ".\n") {
			break
		}
		if item = strings.TrimSpace(item); !seen[item] {
			found = append(found, item)
		}
	}
	return found
}

func snapshot() {
	file, err := os.Create("snapshot.tmp")
	need(err)
	_, err = file.WriteString(strings.Join(items(), "\n") + "\n")
	need(err)
	need(file.Sync())
	need(file.Close())
	need(os.Rename("snapshot.tmp", "snapshot"))
	if mended {
		syncFolder(".")
	}
	need(os.Remove("log"))
	acknowledge("snapshot")
}

func main() {
	switch enter() {
	case "setup":
		need(os.WriteFile("snapshot", []byte("a.\n"), 0644))
		need(os.WriteFile("log", nil, 0644))
	case "run":
		add("b")
		add("c")
		snapshot()
	case "check":
		items()
	case "dump":
		fmt.Println(strings.Join(items(), "\n"))
	}
}
